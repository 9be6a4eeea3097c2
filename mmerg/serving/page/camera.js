/** The camera. While it is on, the page holds its last seconds. It sends them only with a message. */

import { PageError } from "./api.js";

const APPLE = navigator.vendor.startsWith("Apple"); // WebKit can play only its MP4 recordings
const TYPES = APPLE ? ["video/mp4", "video/webm"] : ["video/webm;codecs=vp8", "video/webm", "video/mp4"];
const MIN_LENGTH = 800; // milliseconds of a clip: a shorter one may have no frame
const BIT_RATE = 1_500_000; // per second: enough for a face at 640 x 480
const INSTEAD = "or use text, a clip or a picture.";
const CONTINUE = "Go on with text, a clip or a picture.";
const ERRORS = {
  NotAllowedError: ["The camera was not allowed", `Allow it in the address bar and try again, ${INSTEAD}`],
  NotFoundError: ["There is no camera", `Plug one in and try again, ${INSTEAD}`],
  NotReadableError: ["The camera cannot be read", "Another program may be using it. Close that program and try again."],
};

export class Camera {
  /** seconds: the longest clip. changed(): called when the camera turns on or off. failed(error): when it stops by
      itself. */
  constructor(seconds, changed, failed) {
    Object.assign(this, { seconds, changed, failed });
    Object.assign(this, { isStarting: false, stream: null, recorders: [], timer: 0, startedAt: 0 });
  }

  /** Returns all cameras as {deviceId, label}. Browsers list them only after the first use. */
  static async list() {
    const devices = await navigator.mediaDevices.enumerateDevices();
    return devices.filter(({ kind }) => kind === "videoinput");
  }

  /** Turns a camera on. id: by default the browser chooses one. */
  async turnOn(id = "") {
    if (this.isStarting || this.stream) return;
    if (!navigator.mediaDevices || !window.MediaRecorder) {
      const hint = "Open the page at http://127.0.0.1 or over https. Text, clips and pictures work here.";
      throw new PageError({ what: "The browser does not allow the camera on this page", hint });
    }
    const choice = id ? { deviceId: { exact: id } } : { facingMode: "user" };
    this.isStarting = true;
    try {
      const video = { width: { ideal: 640 }, height: { ideal: 480 }, ...choice };
      this.stream = await navigator.mediaDevices.getUserMedia({ video, audio: false });
    } catch (error) {
      const [what, hint] = ERRORS[error.name] ?? [`The camera did not start: ${error.message}`, CONTINUE];
      throw new PageError({ what, hint });
    } finally {
      this.isStarting = false;
    }
    this.stream.getVideoTracks()[0].addEventListener("ended", () => {
      this.turnOff();
      const hint = `Plug it in again and turn it on, ${INSTEAD}`;
      this.failed(new PageError({ what: "The camera was lost", hint }));
    });
    try {
      this.#record();
    } catch (error) {
      this.turnOff();
      throw new PageError({ what: `The camera cannot be recorded: ${error.message}`, hint: CONTINUE });
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
    const missing = MIN_LENGTH - (performance.now() - this.startedAt);
    await new Promise((resolve) => { setTimeout(resolve, missing); });
    clearInterval(this.timer);
    const [oldest, ...others] = this.recorders.splice(0);
    if (!oldest) throw makeStoppedError();
    others.forEach(discard);
    const file = await stopRecorder(oldest);
    if (this.stream) this.#record();
    return file;
  }

  /** Starts a recorder every half clip and keeps two: the older one holds between half a clip and a whole one. */
  #record() {
    const mimeType = TYPES.find((type) => MediaRecorder.isTypeSupported(type));
    const startRecorder = () => {
      const recorder = new MediaRecorder(this.stream, { mimeType, videoBitsPerSecond: BIT_RATE });
      recorder.start();
      this.recorders.push(recorder);
      if (this.recorders.length > 2) discard(this.recorders.shift());
    };
    this.startedAt = performance.now();
    startRecorder();
    this.timer = setInterval(startRecorder, (1000 * this.seconds) / 2);
  }
}

const makeStoppedError = () => new PageError({ what: "The camera has stopped", hint: "Turn it off and on again." });

function discard(recorder) {
  if (recorder.state !== "inactive") recorder.stop();
}

const stopRecorder = (recorder) => new Promise((resolve, reject) => {
  if (recorder.state === "inactive") return reject(makeStoppedError());
  const type = recorder.mimeType.split(";")[0];
  recorder.ondataavailable = ({ data }) => resolve(new File([data], `camera.${type.split("/")[1]}`, { type }));
  recorder.stop();
});
