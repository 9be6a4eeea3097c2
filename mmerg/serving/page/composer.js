/** The message being written: its text, attachments, the camera, and the turn being edited, if any. After an edit the
    earlier draft comes back. */

import { PageError } from "./api.js";
import { addFiles, drawAttachments, makeAttachment } from "./attachments.js";
import { Camera } from "./camera.js";
import { find, findAll, make, makeError } from "./dom.js";

const CAMERA_SECONDS = 6;
const form = find("#composer");
const input = find("#message-text");
const cameraChoice = find("#camera-choice select");

export class Composer {
  /** send(text, media, replaced): called with a message. changed(): called when the draft changes. */
  constructor(limits, send, changed) {
    Object.assign(this, { limits, send, changed, media: [], edited: null, draftBeforeEdit: null });
    Object.assign(this, { isSending: false, fileCheck: Promise.resolve() });
    const seconds = Math.min(CAMERA_SECONDS, limits.clip_seconds);
    this.camera = new Camera(seconds, () => this.#draw(), (error) => this.showError(error));
    this.#listen();
  }

  /** The draft, without an edit in progress. */
  get draft() {
    return this.draftBeforeEdit ?? { text: input.value, media: this.media };
  }

  /** Starts to edit an exchange. isLast: no other follows it. */
  edit(exchange, isLast) {
    find("#edit-note span").textContent = isLast
      ? "You are editing your last message."
      : "You are editing an earlier message. Sending it removes the messages after it.";
    this.draftBeforeEdit ??= this.draft;
    this.#show(exchange, exchange);
    input.focus();
  }

  /** Ends an edit, and restores the earlier draft. */
  cancelEdit() {
    this.setDraft(this.draft);
  }

  /** Replaces the message with a draft. */
  setDraft(draft) {
    this.draftBeforeEdit = null;
    this.#show(draft, null);
  }

  clear() {
    this.setDraft({ text: "", media: [] });
  }

  /** Appends a text to the draft. */
  append(text) {
    input.value = [input.value.trimEnd(), text].filter(Boolean).join(input.value.trim() ? " " : "");
    this.#fitHeight();
    this.changed();
  }

  showError(error) {
    find("#error").replaceChildren(...(error ? makeError(error) : []));
  }

  async attach(files) {
    if (!files.length) return;
    form.classList.add("checking");
    try {
      this.fileCheck = addFiles(this.media, files, this.limits);
      this.media = await this.fileCheck;
      this.showError(null);
    } catch (error) {
      this.showError(error);
    }
    form.classList.remove("checking");
    this.#draw();
    this.changed();
  }

  async #submit() {
    if (this.isSending || find("#send").hidden) return;
    this.isSending = true; // checks of files and the camera's clip take a moment
    try {
      await this.fileCheck.catch(() => {});
      const text = input.value.trim();
      this.#check(text);
      let { media } = this;
      if (!media.length && this.camera.stream) media = [makeAttachment(await this.camera.clip(), "clip")];
      const replaced = this.edited;
      if (replaced) this.cancelEdit();
      else this.clear();
      this.send(text, media, replaced);
    } catch (error) {
      this.showError(error);
    } finally {
      this.isSending = false;
    }
  }

  /** Throws PageError if the message is empty or too long. */
  #check(text) {
    if (!text && !this.media.length && !this.camera.stream) {
      const hint = "Write a few words, attach a clip or pictures, or turn on the camera.";
      throw new PageError({ what: "There is nothing to send yet", hint });
    }
    const [length, limit] = [Array.from(text).length, this.limits.text];
    if (length > limit) {
      const [count, most] = [length, limit].map((number) => number.toLocaleString("en"));
      throw new PageError({ what: `The message has ${count} characters; the limit is ${most}`, hint: "Shorten it." });
    }
  }

  #show({ text, media }, edited) {
    input.value = text;
    Object.assign(this, { media, edited });
    this.showError(null);
    this.#draw();
    this.changed();
  }

  #draw() {
    const { stream } = this.camera;
    const preview = find("#camera-preview");
    find("#edit-note").hidden = this.edited === null;
    find("#camera").hidden = !stream;
    find("#camera-on").disabled = Boolean(stream);
    find("#camera-note").textContent = this.media.length
      ? "The attachment is sent instead."
      : "Its last seconds are sent with your message, without sound.";
    if (preview.srcObject !== stream) {
      preview.srcObject = stream;
      if (stream) {
        preview.play().catch(() => {}); // turned off before it played
        this.#offerCameras();
        find("#camera-off").focus();
      }
    }
    drawAttachments(find("#attachments"), this.media, (index) => {
      this.media = this.media.toSpliced(index, 1);
      this.#draw();
      this.changed();
      input.focus();
    });
    this.#fitHeight();
  }

  /** Shows a choice of cameras if there are several. */
  async #offerCameras() {
    const cameras = await Camera.list();
    const current = this.camera.stream?.getVideoTracks()[0].getSettings().deviceId;
    find("#camera-choice").hidden = cameras.length < 2;
    cameraChoice.replaceChildren(...cameras.map(({ deviceId, label }, index) =>
      make("option", { value: deviceId, selected: deviceId === current }, label || `Camera ${index + 1}`)));
  }

  async #turnOn(id) {
    this.showError(null);
    await this.camera.turnOn(id).catch((error) => this.showError(error));
  }

  /** Fits the height of the field to its text, within a limit. */
  #fitHeight() {
    input.rows = 1;
    const lineHeight = parseFloat(getComputedStyle(input).lineHeight);
    const maxRows = Math.max(1, Math.min(8, Math.floor(innerHeight / 4 / lineHeight)));
    input.rows = Math.min(maxRows, Math.max(1, Math.floor((input.scrollHeight - 2) / lineHeight)));
  }

  #listen() {
    this.#listenToText();
    this.#listenToFiles();
    find("#camera-on").addEventListener("click", () => this.#turnOn());
    find("#camera-off").addEventListener("click", () => {
      this.camera.turnOff();
      find("#camera-on").focus();
    });
    cameraChoice.addEventListener("change", () => {
      this.camera.turnOff();
      this.#turnOn(cameraChoice.value);
    });
    addEventListener("resize", () => this.#fitHeight());
  }

  #listenToText() {
    const enterSends = matchMedia("(pointer: fine)").matches; // on a phone, Enter starts a new line
    if (enterSends) input.placeholder = "Your message: Enter sends it";
    form.addEventListener("submit", () => this.#submit());
    input.addEventListener("input", () => {
      this.#fitHeight();
      this.changed();
    });
    input.addEventListener("keydown", (event) => {
      if (enterSends && event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.#submit();
      }
      if (event.key === "Escape" && this.edited) {
        event.stopPropagation();
        this.cancelEdit();
      }
    });
    find("#cancel-edit").addEventListener("click", () => {
      this.cancelEdit();
      input.focus();
    });
    for (const example of findAll(".example")) {
      example.addEventListener("click", () => {
        this.append(example.textContent);
        input.focus();
      });
    }
  }

  #listenToFiles() {
    const fileInput = find("#file-input");
    find("#attach").addEventListener("click", () => fileInput.click());
    fileInput.addEventListener("change", () => {
      this.attach(Array.from(fileInput.files));
      fileInput.value = "";
      input.focus();
    });
    addEventListener("paste", (event) => {
      if (!event.clipboardData?.files.length) return;
      event.preventDefault();
      this.attach(Array.from(event.clipboardData.files));
    });
    for (const name of ["dragover", "dragleave", "drop"]) {
      addEventListener(name, (event) => {
        event.preventDefault();
        document.body.classList.toggle("dragging", name === "dragover");
        if (name === "drop") this.attach(Array.from(event.dataTransfer.files));
      });
    }
  }
}
