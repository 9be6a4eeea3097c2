/** The message being written: its text, attachments, the camera, and the turn being edited, if any. After an edit the
    earlier draft comes back. */

import { addFiles, drawAttachments, makeAttachment } from "./attached.js";
import { Camera } from "./camera.js";
import { find, findAll, make, makeError } from "./dom.js";

const CAMERA_SECONDS = 6;
const input = find("#text");

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
    find("#editing span").textContent = last ? "You are editing your last message." : "You are editing an earlier message. Sending it removes the messages after it.";
    this.aside ??= this.draft;
    this.#put(exchange.words, exchange.media, exchange);
    input.focus();
  }

  /** Ends an edit, and restores the earlier draft. */
  unedit() {
    const { words, media } = this.draft;
    this.aside = null;
    this.#put(words, media, null);
  }

  /** Replaces the message with a draft. */
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
    find("#wrong").replaceChildren(...(error ? makeError(error) : []));
  }

  async attach(files) {
    if (!files.length) return;
    find("#composer").classList.add("checking");
    try {
      this.checking = addFiles(this.held, files, this.limits).then((attachments) => { this.held = attachments; });
      await this.checking;
      this.complain(null);
    } catch (error) {
      this.complain(error);
    }
    find("#composer").classList.remove("checking");
    this.#draw();
    this.changed();
  }

  async #submit() {
    if (this.sending || find("#send").hidden) return;
    const words = input.value.trim();
    const length = Array.from(words).length;
    const most = this.limits.text;
    this.sending = true; // checks of files and the camera's clip take a moment
    try {
      await this.checking.catch(() => {});
      if (!words && !this.held.length && !this.camera.stream) {
        this.complain({ what: "There is nothing to send yet", hint: "Write a few words, attach a clip or pictures, or turn on the camera." });
      } else if (length > most) {
        this.complain({ what: `The message has ${length.toLocaleString("en")} characters; the limit is ${most.toLocaleString("en")}`, hint: "Shorten it." });
      } else {
        const media = this.held.length || !this.camera.stream ? this.held : [makeAttachment(await this.camera.clip(), "clip")];
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
    const mirror = find("#mirror");
    find("#editing").hidden = this.editing === null;
    find("#camera").hidden = !on;
    find("#camera-on").disabled = on;
    find("#goes-along").textContent = this.held.length ? "The attachment is sent instead." : "Its last seconds are sent with your message, without sound.";
    if (mirror.srcObject !== this.camera.stream) {
      mirror.srcObject = this.camera.stream;
      if (on) {
        mirror.play().catch(() => {}); // turned off before it played
        this.#offerCameras();
        find("#camera-off").focus();
      }
    }
    drawAttachments(find("#attached"), this.held, (place) => {
      this.held = this.held.filter((_, number) => number !== place);
      this.#draw();
      this.changed();
      input.focus();
    });
    this.#fit();
  }

  /** Shows a choice of cameras if there are several. */
  async #offerCameras() {
    const cameras = await Camera.list();
    const now = this.camera.stream?.getVideoTracks()[0].getSettings().deviceId;
    find("#cameras").hidden = cameras.length < 2;
    find("#cameras select").replaceChildren(...cameras.map(({ deviceId, label }, place) => make("option", { value: deviceId, selected: deviceId === now }, label || `Camera ${place + 1}`)));
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
    const enterSends = matchMedia("(pointer: fine)").matches; // on a phone, Enter starts a new line
    if (enterSends) input.placeholder = "Your message: Enter sends it";
    input.addEventListener("input", () => { this.#fit(); this.changed(); });
    input.addEventListener("keydown", (event) => {
      if (enterSends && event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); this.#submit(); }
      if (event.key === "Escape" && this.editing) { event.stopPropagation(); this.unedit(); }
    });
    addEventListener("paste", (event) => {
      if (!event.clipboardData?.files.length) return;
      event.preventDefault();
      this.attach(Array.from(event.clipboardData.files));
    });
    find("#composer").addEventListener("submit", () => this.#submit());
    find("#unedit").addEventListener("click", () => { this.unedit(); input.focus(); });
    find("#camera-on").addEventListener("click", () => this.#turnOn());
    find("#camera-off").addEventListener("click", () => { this.camera.turnOff(); find("#camera-on").focus(); });
    find("#cameras select").addEventListener("change", ({ target }) => { this.camera.turnOff(); this.#turnOn(target.value); });
    find("#attach").addEventListener("click", () => find("#files").click());
    find("#files").addEventListener("change", ({ target }) => { this.attach(Array.from(target.files)); target.value = ""; input.focus(); });
    for (const opener of findAll(".opener")) opener.addEventListener("click", () => { this.add(opener.textContent); input.focus(); });
    const over = (on) => (event) => { event.preventDefault(); document.body.classList.toggle("dropping", on); };
    addEventListener("dragover", over(true));
    addEventListener("dragleave", over(false));
    addEventListener("drop", (event) => { over(false)(event); this.attach(Array.from(event.dataTransfer.files)); });
    addEventListener("resize", () => this.#fit());
  }
}
