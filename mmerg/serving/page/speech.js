/** Speech: dictation while a button is held, and reading replies aloud. Both are off by default. The server transcribes
    speech if it has a speech model. Otherwise the browser does, if it can. */

import { PageError, transcribe } from "./api.js";
import { find } from "./dom.js";

const Recognition = window.SpeechRecognition ?? window.webkitSpeechRecognition;
const BIT_RATE = 32_000; // per second: enough for a voice
const MIN_LENGTH = 300; // milliseconds of a recording: a shorter one holds no word
const HINT = "Allow the microphone in the address bar, or write.";
const mic = find("#mic");
export const canSpeak = "speechSynthesis" in window;

/** Returns whether speech can be transcribed. maxSeconds: the limit of a recording for the server; 0 if the server has
    no speech model. */
export const canTranscribe = (maxSeconds) =>
  Boolean(maxSeconds ? navigator.mediaDevices && window.MediaRecorder : Recognition);

/** Transcribes speech while #mic is held. heard(text): called with the text. failed(error): called with an error, and
    with null at the start of a recording. */
export function listen(maxSeconds, heard, failed) {
  let isBusy = false;
  let release = () => {};
  const start = async (event) => {
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    stopSpeaking();
    failed(null);
    showState("Starting …", { pressed: true });
    const released = new Promise((resolve) => { release = resolve; });
    released.then(() => showState("Transcribing …", { busy: true }));
    const timer = maxSeconds && setTimeout(release, 1000 * (maxSeconds - 1));
    try {
      await (maxSeconds ? record(released, heard) : recognise(released, heard));
    } catch (error) {
      failed(error);
    }
    clearTimeout(timer);
    isBusy = false;
    release = () => {};
    showState("Hold to talk");
  };
  mic.addEventListener("pointerdown", start);
  for (const name of ["pointerup", "pointercancel", "pointerleave", "keyup", "blur"]) {
    mic.addEventListener(name, () => release());
  }
  mic.addEventListener("keydown", (event) => {
    if ([" ", "Enter"].includes(event.key)) start(event);
  });
  mic.addEventListener("contextmenu", (event) => event.preventDefault()); // a long press
}

function showState(text, { pressed = false, busy = false } = {}) {
  find("span", mic).textContent = text;
  mic.ariaPressed = String(pressed);
  mic.ariaBusy = String(busy);
}

async function record(released, heard) {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true }).catch(({ message }) => {
    throw new PageError({ what: `The microphone cannot be used: ${message}`, hint: HINT });
  });
  let sound = null;
  let duration = 0;
  try {
    const recorder = new MediaRecorder(stream, { audioBitsPerSecond: BIT_RATE });
    sound = new Promise((resolve) => { recorder.ondataavailable = ({ data }) => resolve(data); });
    recorder.start();
    showState("Listening …", { pressed: true });
    const startedAt = performance.now();
    await released;
    duration = performance.now() - startedAt;
    recorder.stop();
  } finally {
    for (const track of stream.getTracks()) track.stop();
  }
  const text = duration > MIN_LENGTH && await transcribe(await sound);
  if (!text) throw new PageError({ what: "No speech was heard", hint: "Hold the button for as long as you talk." });
  heard(text);
}

const recognise = (released, heard) => new Promise((resolve, reject) => {
  const options = { continuous: true, interimResults: false, lang: navigator.language };
  const recogniser = Object.assign(new Recognition(), options);
  recogniser.onresult = ({ results, resultIndex }) => {
    const final = Array.from(results).slice(resultIndex).filter(({ isFinal }) => isFinal);
    heard(final.map(([best]) => best.transcript.trim()).join(" "));
  };
  recogniser.onerror = ({ error }) => {
    if (["no-speech", "aborted"].includes(error)) return;
    reject(new PageError({ what: `Nothing could be heard: ${error.replaceAll("-", " ")}`, hint: HINT }));
  };
  recogniser.onstart = () => showState("Listening …", { pressed: true });
  recogniser.onend = resolve;
  released.then(() => recogniser.stop());
  recogniser.start();
});

/** Reads a reply aloud. */
export function speak(text) {
  if (!canSpeak) return;
  speechSynthesis.cancel();
  speechSynthesis.speak(new SpeechSynthesisUtterance(text.replace(/[*_`#>]/g, "")));
}

/** Stops reading aloud. */
export function stopSpeaking() {
  if (canSpeak) speechSynthesis.cancel();
}
