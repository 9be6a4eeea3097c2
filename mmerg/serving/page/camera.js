/** The camera. While it is on, the page holds its last seconds. It sends them only with a message. */

import { PageError } from "./wire.js";

const APPLE = navigator.vendor.startsWith("Apple"); // WebKit can play only its MP4 recordings
const KINDS = APPLE ? ["video/mp4", "video/webm"] : ["video/webm;codecs=vp8", "video/webm", "video/mp4"];
const MIN_LENGTH = 800; // milliseconds of a clip: a shorter one may have no frame
const BIT_RATE = 1_500_000; // per second: enough for a face at 640 x 480
const ERRORS = {
  NotAllowedError: ["The camera was not allowed", "Allow it in the address bar and try again, or use text, a clip or a picture."],
  NotFoundError: ["There is no camera", "Plug one in and try again, or use text, a clip or a picture."],
  NotReadableError: ["The camera cannot be read", "Another program may be using it. Close that program and try again."],
};

export class Camera {
  /** seconds: the longest clip. changed(): called when the camera turns on or off. lost(error): when it stops by itself. */
  constructor(seconds, changed, lost) {
    Object.assign(this, { seconds, changed, lost, asking: false, stream: null, recorders: [], timer: 0, begun: 0 });
  }

  /** Returns all cameras as {deviceId, label}. Browsers list them only after the first use. */
  static list = async () => (await navigator.mediaDevices.enumerateDevices()).filter(({ kind }) => kind === "videoinput");

  /** Turns a camera on. id: by default the browser chooses one. */
  async turnOn(id = "") {
    if (this.asking || this.stream) return;
    if (!navigator.mediaDevices || !window.MediaRecorder) {
      throw new PageError({ what: "The browser does not allow the camera on this page", hint: "Open the page at http://127.0.0.1 or over https. Text, clips and pictures work here." });
    }
    this.asking = true;
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 640 }, height: { ideal: 480 }, ...(id ? { deviceId: { exact: id } } : { facingMode: "user" }) }, audio: false });
    } catch (error) {
      const [what, hint] = ERRORS[error.name] ?? [`The camera did not start: ${error.message}`, "Go on with text, a clip or a picture."];
      throw new PageError({ what, hint });
    } finally {
      this.asking = false;
    }
    this.stream.getVideoTracks()[0].addEventListener("ended", () => {
      this.turnOff();
      this.lost(new PageError({ what: "The camera was lost", hint: "Plug it in again and turn it on, or use text, a clip or a picture." }));
    });
    try {
      this.#roll();
    } catch (error) {
      this.turnOff();
      throw new PageError({ what: `The camera cannot be recorded: ${error.message}`, hint: "Go on with text, a clip or a picture." });
    }
    this.changed();
  }

  turnOff() {
    clearInterval(this.timer);
    this.recorders.forEach(discard);
    this.recorders = [];
    this.stream?.getTracks().forEach((track) => track.stop());
    this.stream = null;
    this.changed();
  }

  /** Returns the last seconds as a file, and starts to record the next ones. */
  async clip() {
    await new Promise((resolve) => { setTimeout(resolve, MIN_LENGTH - (performance.now() - this.begun)); });
    clearInterval(this.timer);
    const [oldest, ...others] = this.recorders.splice(0);
    if (!oldest) throw stoppedError();
    others.forEach(discard);
    const file = await stopRecorder(oldest);
    if (this.stream) this.#roll();
    return file;
  }

  /** Starts a recorder every half clip and keeps two: the older one holds between half a clip and a whole one. */
  #roll() {
    const startRecorder = () => {
      const mimeType = KINDS.find((kind) => MediaRecorder.isTypeSupported(kind));
      const recorder = new MediaRecorder(this.stream, { mimeType, videoBitsPerSecond: BIT_RATE });
      recorder.start();
      this.recorders.push(recorder);
      if (this.recorders.length > 2) discard(this.recorders.shift());
    };
    this.begun = performance.now();
    startRecorder();
    this.timer = setInterval(startRecorder, (1000 * this.seconds) / 2);
  }
}

const stoppedError = () => new PageError({ what: "The camera has stopped", hint: "Turn it off and on again." });
const discard = (recorder) => { if (recorder.state !== "inactive") recorder.stop(); };

const stopRecorder = (recorder) => new Promise((resolve, reject) => {
  if (recorder.state === "inactive") return reject(stoppedError());
  const kind = recorder.mimeType.split(";")[0];
  recorder.addEventListener("dataavailable", ({ data }) => resolve(new File([data], `camera.${kind.split("/")[1]}`, { type: kind })), { once: true });
  recorder.stop();
});
