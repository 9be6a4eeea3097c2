/** Speech: dictation while a button is held, and reading replies aloud. Both are off by default. The server transcribes
    speech if it has a speech model. Otherwise the browser does, if it can. */

import { find } from "./dom.js";
import { PageError, transcribe } from "./wire.js";

const Recognition = window.SpeechRecognition ?? window.webkitSpeechRecognition;
const BIT_RATE = 32_000; // per second: enough for a voice
const MIN_LENGTH = 300; // milliseconds of a recording: a shorter one holds no word
const HINT = "Allow the microphone in the address bar, or write.";
const mic = find("#mic");
export const canSpeak = "speechSynthesis" in window;

/** Returns true if speech can be transcribed. seconds: the limit of a recording for the server; 0 without a speech model. */
export const canTranscribe = (seconds) => Boolean(seconds ? navigator.mediaDevices && window.MediaRecorder : Recognition);

/** Transcribes speech while #mic is held. heard(words): called with the text. failed(error): called with an error, and
    with null at the start of a recording. */
export function listen(seconds, heard, failed) {
  let busy = false;
  let end = () => {};
  const begin = async (event) => {
    event.preventDefault();
    if (busy) return;
    busy = true;
    stopSpeaking();
    failed(null);
    showState("Starting …", true);
    const released = new Promise((resolve) => { end = () => { showState("Transcribing …", false, true); resolve(); }; });
    const timer = seconds && setTimeout(end, 1000 * (seconds - 1));
    try {
      await (seconds ? record(released, heard) : recognise(released, heard));
    } catch (error) {
      failed(error);
    }
    clearTimeout(timer);
    busy = false;
    end = () => {};
    showState("Hold to talk");
  };
  mic.addEventListener("pointerdown", begin);
  for (const name of ["pointerup", "pointercancel", "pointerleave", "keyup", "blur"]) mic.addEventListener(name, () => end());
  mic.addEventListener("keydown", (event) => { if ([" ", "Enter"].includes(event.key)) begin(event); });
  mic.addEventListener("contextmenu", (event) => event.preventDefault()); // a long press
}

function showState(words, held = false, busy = false) {
  find("span", mic).textContent = words;
  mic.ariaPressed = String(held);
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
    showState("Listening …", true);
    const start = performance.now();
    await released;
    duration = performance.now() - start;
    recorder.stop();
  } finally {
    for (const track of stream.getTracks()) track.stop();
  }
  const words = duration > MIN_LENGTH && await transcribe(await sound);
  if (!words) throw new PageError({ what: "No speech was heard", hint: "Hold the button for as long as you talk." });
  heard(words);
}

const recognise = (released, heard) => new Promise((resolve, reject) => {
  const recogniser = Object.assign(new Recognition(), { continuous: true, interimResults: false, lang: navigator.language });
  recogniser.onresult = ({ results, resultIndex }) => heard(Array.from(results).slice(resultIndex).filter(({ isFinal }) => isFinal).map(([best]) => best.transcript.trim()).join(" "));
  recogniser.onerror = ({ error }) => { if (error !== "no-speech" && error !== "aborted") reject(new PageError({ what: `Nothing could be heard: ${error.replaceAll("-", " ")}`, hint: HINT })); };
  recogniser.onstart = () => showState("Listening …", true);
  recogniser.onend = resolve;
  released.then(() => recogniser.stop());
  recogniser.start();
});

/** Reads a reply aloud. */
export function speak(words) {
  if (!canSpeak) return;
  speechSynthesis.cancel();
  speechSynthesis.speak(new SpeechSynthesisUtterance(words.replace(/[*_`#>]/g, "")));
}

/** Stops reading aloud. */
export const stopSpeaking = () => { if (canSpeak) speechSynthesis.cancel(); };
