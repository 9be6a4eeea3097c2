/** The message being written: its text, attachments, the camera, and the turn being edited, if any. After an edit the
    draft from before it comes back. */

import { added, drawAttached, medium } from "./attached.js";
import { Camera } from "./camera.js";
import { all, make, one, problem } from "./dom.js";

const CAMERA_SECONDS = 6;
const input = one("#text");

export class Composer {
  /** send(words, media, instead): called with a message. changed(): called when the draft changes. */
  constructor(limits, send, changed) {
    const camera = new Camera(Math.min(CAMERA_SECONDS, limits.clip_seconds), () => this.#draw(), (error) => this.complain(error));
    Object.assign(this, { limits, send, changed, camera, held: [], editing: null, aside: null, sending: false, checking: Promise.resolve() });
    this.#listen();
  }

  /** The draft, without an edit in progress. */
  get draft() {
    return this.aside ?? { words: input.value, media: this.held };
  }

  /** Starts to edit an exchange. last: no other follows it. */
  edit(exchange, last) {
    one("#editing span").textContent = last ? "You are editing your last message." : "You are editing an earlier message. Sending it removes the messages after it.";
    this.aside ??= this.draft;
    this.#put(exchange.words, exchange.media, exchange);
    input.focus();
  }

  /** Ends an edit, and restores the draft from before it. */
  unedit() {
    const { words, media } = this.draft;
    this.aside = null;
    this.#put(words, media, null);
  }

  /** Starts with a draft. */
  begin({ words, media } = { words: "", media: [] }) {
    this.aside = null;
    this.#put(words, media, null);
  }

  /** Appends words to the draft. */
  add(words) {
    input.value = [input.value.trimEnd(), words].filter(Boolean).join(input.value.trim() ? " " : "");
    this.#fit();
    this.changed();
  }

  complain(error) {
    one("#wrong").replaceChildren(...(error ? problem(error) : []));
  }

  async attach(files) {
    if (!files.length) return;
    one("#composer").classList.add("checking");
    try {
      await (this.checking = added(this.held, files, this.limits).then((held) => { this.held = held; }));
      this.complain(null);
    } catch (error) {
      this.complain(error);
    }
    one("#composer").classList.remove("checking");
    this.#draw();
    this.changed();
  }

  async #submit() {
    if (this.sending || one("#send").hidden) return;
    const words = input.value.trim();
    const [length, most] = [Array.from(words).length, this.limits.text];
    this.sending = true; // checks of files and the camera's clip take a moment
    try {
      await this.checking.catch(() => {});
      if (!words && !this.held.length && !this.camera.stream) {
        this.complain({ what: "There is nothing to send yet", hint: "Write a few words, attach a clip or pictures, or turn on the camera." });
      } else if (length > most) {
        this.complain({ what: `The message has ${length.toLocaleString("en")} characters, at most ${most.toLocaleString("en")} are taken`, hint: "Shorten it." });
      } else {
        const media = this.held.length || !this.camera.stream ? this.held : [medium(await this.camera.clip(), "clip")];
        const instead = this.editing;
        if (instead) this.unedit();
        else this.begin();
        this.send(words, media, instead);
      }
    } catch (error) {
      this.complain(error);
    } finally {
      this.sending = false;
    }
  }

  #put(words, held, editing) {
    input.value = words;
    Object.assign(this, { held, editing });
    this.complain(null);
    this.#draw();
    this.changed();
  }

  #draw() {
    const on = this.camera.stream !== null;
    const mirror = one("#mirror");
    one("#editing").hidden = this.editing === null;
    one("#camera").hidden = !on;
    one("#camera-on").disabled = on;
    one("#goes-along").textContent = this.held.length ? "The attachment is sent instead." : "Its last seconds are sent with your message, without sound.";
    if (mirror.srcObject !== this.camera.stream) {
      mirror.srcObject = this.camera.stream;
      if (on) {
        mirror.play().catch(() => {}); // turned off before it played
        this.#offerCameras();
        one("#camera-off").focus();
      }
    }
    drawAttached(one("#attached"), this.held, (place) => {
      this.held = this.held.filter((_, number) => number !== place);
      this.#draw();
      this.changed();
      input.focus();
    });
    this.#fit();
  }

  /** Shows a choice of cameras if there are several. */
  async #offerCameras() {
    const cameras = await Camera.all();
    const now = this.camera.stream?.getVideoTracks()[0].getSettings().deviceId;
    one("#cameras").hidden = cameras.length < 2;
    one("#cameras select").replaceChildren(...cameras.map(({ deviceId, label }, place) => make("option", { value: deviceId, selected: deviceId === now }, label || `Camera ${place + 1}`)));
  }

  #turnOn(which) {
    this.complain(null);
    return this.camera.turnOn(which).catch((error) => this.complain(error));
  }

  /** Fits the height of the field to its text, within a limit. */
  #fit() {
    input.rows = 1;
    const line = parseFloat(getComputedStyle(input).lineHeight);
    const most = Math.max(1, Math.min(8, Math.floor(innerHeight / 4 / line)));
    input.rows = Math.min(most, Math.max(1, Math.floor((input.scrollHeight - 2) / line)));
  }

  #listen() {
    const typed = matchMedia("(pointer: fine)").matches; // on a phone, Enter starts a new line
    if (typed) input.placeholder = "Your message: Enter sends it";
    input.addEventListener("input", () => { this.#fit(); this.changed(); });
    input.addEventListener("keydown", (event) => {
      if (typed && event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); this.#submit(); }
      if (event.key === "Escape" && this.editing) { event.stopPropagation(); this.unedit(); }
    });
    addEventListener("paste", (event) => {
      if (!event.clipboardData?.files.length) return;
      event.preventDefault();
      this.attach(Array.from(event.clipboardData.files));
    });
    one("#composer").addEventListener("submit", () => this.#submit());
    one("#unedit").addEventListener("click", () => { this.unedit(); input.focus(); });
    one("#camera-on").addEventListener("click", () => this.#turnOn());
    one("#camera-off").addEventListener("click", () => { this.camera.turnOff(); one("#camera-on").focus(); });
    one("#cameras select").addEventListener("change", ({ target }) => { this.camera.turnOff(); this.#turnOn(target.value); });
    one("#attach").addEventListener("click", () => one("#files").click());
    one("#files").addEventListener("change", ({ target }) => { this.attach(Array.from(target.files)); target.value = ""; input.focus(); });
    for (const opener of all(".opener")) opener.addEventListener("click", () => { this.add(opener.textContent); input.focus(); });
    const over = (on) => (event) => { event.preventDefault(); document.body.classList.toggle("dropping", on); };
    addEventListener("dragover", over(true));
    addEventListener("dragleave", over(false));
    addEventListener("drop", (event) => { over(false)(event); this.attach(Array.from(event.dataTransfer.files)); });
    addEventListener("resize", () => this.#fit());
  }
}
