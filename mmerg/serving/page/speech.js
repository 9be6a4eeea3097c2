/** Speech: dictation while a button is held, and reading replies aloud. Both are off by default. The server transcribes if
    it has a speech model, else the browser does if it can. */

import { find } from "./dom.js";
import { transcribe, PageError } from "./wire.js";

const Recognition = window.SpeechRecognition ?? window.webkitSpeechRecognition;
const BITS = 32_000; // per second: enough for a voice
const LEAST = 300; // milliseconds: less holds no word
const HINT = "Allow the microphone in the address bar, or write.";
const mic = find("#mic");
export const speaks = "speechSynthesis" in window;

/** Whether speech can be transcribed. seconds: the longest recording that the server takes; 0 without a speech model. */
export const hears = (seconds) => Boolean(seconds ? navigator.mediaDevices && window.MediaRecorder : Recognition);

/** Transcribes speech while #mic is held. heard(words): called with the words. wrong(error): called with an error, and with
    null at the start of a recording. */
export function listen(seconds, heard, wrong) {
  let [busy, end] = [false, () => {}];
  const begin = async (event) => {
    event.preventDefault();
    if (busy) return;
    busy = true;
    hush();
    wrong(null);
    show("Starting …", true);
    const released = new Promise((resolve) => { end = () => { show("Transcribing …", false, true); resolve(); }; });
    const timer = seconds && setTimeout(end, 1000 * (seconds - 1));
    try {
      await (seconds ? recorded(released, heard) : recognised(released, heard));
    } catch (error) {
      wrong(error);
    }
    clearTimeout(timer);
    [busy, end] = [false, () => {}];
    show("Hold to talk");
  };
  mic.addEventListener("pointerdown", begin);
  for (const name of ["pointerup", "pointercancel", "pointerleave", "keyup", "blur"]) mic.addEventListener(name, () => end());
  mic.addEventListener("keydown", (event) => { if ([" ", "Enter"].includes(event.key)) begin(event); });
  mic.addEventListener("contextmenu", (event) => event.preventDefault()); // a long press
}

function show(words, held = false, busy = false) {
  find("span", mic).textContent = words;
  mic.ariaPressed = String(held);
  mic.ariaBusy = String(busy);
}

async function recorded(released, heard) {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true }).catch(({ message }) => {
    throw new PageError({ what: `The microphone cannot be used: ${message}`, hint: HINT });
  });
  let [sound, held] = [null, 0];
  try {
    const recorder = new MediaRecorder(stream, { audioBitsPerSecond: BITS });
    sound = new Promise((resolve) => { recorder.ondataavailable = ({ data }) => resolve(data); });
    recorder.start();
    show("Listening …", true);
    const begun = performance.now();
    await released;
    held = performance.now() - begun;
    recorder.stop();
  } finally {
    for (const track of stream.getTracks()) track.stop();
  }
  const words = held > LEAST && await transcribe(await sound);
  if (!words) throw new PageError({ what: "No speech was heard", hint: "Hold the button for as long as you talk." });
  heard(words);
}

const recognised = (released, heard) => new Promise((resolve, reject) => {
  const recogniser = Object.assign(new Recognition(), { continuous: true, interimResults: false, lang: navigator.language });
  recogniser.onresult = ({ results, resultIndex }) => heard(Array.from(results).slice(resultIndex).filter(({ isFinal }) => isFinal).map(([best]) => best.transcript.trim()).join(" "));
  recogniser.onerror = ({ error }) => { if (error !== "no-speech" && error !== "aborted") reject(new PageError({ what: `Nothing could be heard: ${error.replaceAll("-", " ")}`, hint: HINT })); };
  recogniser.onstart = () => show("Listening …", true);
  recogniser.onend = resolve;
  released.then(() => recogniser.stop());
  recogniser.start();
});

/** Reads a reply aloud. */
export function speak(words) {
  if (!speaks) return;
  speechSynthesis.cancel();
  speechSynthesis.speak(new SpeechSynthesisUtterance(words.replace(/[*_`#>]/g, "")));
}

/** Stops reading aloud. */
export const hush = () => { if (speaks) speechSynthesis.cancel(); };
