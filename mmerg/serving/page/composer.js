/** What is being written: the words, what goes along with them, the camera, and the turn that is edited, if any. */

import { added, drawAttached, medium } from "./attached.js";
import { Camera } from "./camera.js";
import { all, one, problem } from "./dom.js";

const CAMERA_SECONDS = 6;
const input = one("#text");

export class Composer {
  /** send(words, media, instead): called with what is to be said. */
  constructor(limits, send) {
    const camera = new Camera(Math.min(CAMERA_SECONDS, limits.clip_seconds), () => this.#draw());
    Object.assign(this, { limits, send, camera, held: [], editing: null, sending: false });
    this.#listen();
  }

  /** Write this in place of an exchange; last: nothing came after it. */
  edit(exchange, last) {
    one("#editing span").textContent = last ? "You are editing your last turn." : "You are editing an earlier turn: what came after it goes when you send.";
    this.#put(exchange.words, exchange.media, exchange);
    input.focus();
  }

  clear() {
    this.#put("", [], null);
  }

  complain(error) {
    one("#wrong").replaceChildren(...(error ? problem(error) : []));
  }

  async #submit() {
    if (this.sending || one("#send").hidden) return;
    const words = input.value.trim();
    const [length, most] = [Array.from(words).length, this.limits.text];
    if (!words && !this.held.length && !this.camera.stream) {
      this.complain({ what: "There is nothing to send yet", hint: "Write a few words, or show a clip, pictures or yourself." });
    } else if (length > most) {
      this.complain({ what: `The message has ${length.toLocaleString("en")} characters, at most ${most.toLocaleString("en")} are taken`, hint: "Shorten it." });
    } else {
      this.sending = true; // the clip takes a moment
      try {
        const media = this.held.length || !this.camera.stream ? this.held : [medium(await this.camera.clip())];
        const instead = this.editing;
        this.clear();
        this.send(words, media, instead);
      } catch (error) {
        this.complain(error);
      } finally {
        this.sending = false;
      }
    }
  }

  #put(words, held, editing) {
    input.value = words;
    Object.assign(this, { held, editing });
    this.complain(null);
    this.#draw();
  }

  #attach(files) {
    try {
      this.held = added(this.held, files, this.limits);
      this.complain(null);
    } catch (error) {
      this.complain(error);
    }
    this.#draw();
  }

  #draw() {
    const on = this.camera.stream !== null;
    const mirror = one("#mirror");
    one("#editing").hidden = this.editing === null;
    one("#camera").hidden = !on;
    one("#camera-on").disabled = on;
    one("#goes-along").textContent = this.held.length ? "What is attached goes along instead." : "Its last seconds go along when you send; sound does not.";
    if (mirror.srcObject !== this.camera.stream) {
      mirror.srcObject = this.camera.stream;
      if (on) mirror.play().catch(() => {}); // turned off before it played
    }
    drawAttached(one("#attached"), this.held, (place) => {
      this.held = this.held.filter((_, number) => number !== place);
      this.#draw();
      input.focus();
    });
    this.#fit();
  }

  /** As high as its text, up to a point. */
  #fit() {
    input.rows = 1;
    const line = parseFloat(getComputedStyle(input).lineHeight);
    input.rows = Math.min(8, Math.max(1, Math.floor(input.scrollHeight / line)));
  }

  #listen() {
    const typed = matchMedia("(pointer: fine)").matches; // on a phone's keys a new line is a new line
    if (typed) input.placeholder = "Your message: Enter sends it";
    input.addEventListener("input", () => this.#fit());
    input.addEventListener("keydown", (event) => {
      if (typed && event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); this.#submit(); }
      if (event.key === "Escape" && this.editing) this.clear();
    });
    input.addEventListener("paste", (event) => {
      if (!event.clipboardData.files.length) return;
      event.preventDefault();
      this.#attach(Array.from(event.clipboardData.files));
    });
    one("#composer").addEventListener("submit", () => this.#submit());
    one("#unedit").addEventListener("click", () => { this.clear(); input.focus(); });
    one("#camera-on").addEventListener("click", () => { this.complain(null); this.camera.turnOn().catch((error) => this.complain(error)); });
    one("#camera-off").addEventListener("click", () => { this.camera.turnOff(); one("#camera-on").focus(); });
    one("#attach").addEventListener("click", () => one("#files").click());
    one("#files").addEventListener("change", ({ target }) => { this.#attach(Array.from(target.files)); target.value = ""; });
    for (const opener of all(".opener")) opener.addEventListener("click", () => { input.value = opener.textContent; this.#fit(); input.focus(); });
    const area = one("#talk");
    const over = (on) => (event) => { event.preventDefault(); area.classList.toggle("dropping", on); };
    area.addEventListener("dragover", over(true));
    area.addEventListener("dragleave", over(false));
    area.addEventListener("drop", (event) => { over(false)(event); this.#attach(Array.from(event.dataTransfer.files)); });
  }
}
