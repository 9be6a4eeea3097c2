/** Dictation: while #mic is held, the page records sound, and the server's speech model transcribes it. */

import { one } from "./dom.js";
import { transcribe, Wrong } from "./wire.js";

const BITS = 32_000; // per second: enough for a voice
const LEAST = 300; // milliseconds: less holds no word
const mic = one("#mic");

/** seconds: the most that the server transcribes at once; 0 hides the button. heard(words): called with the words.
    wrong(error): called with an error, and with null at the start of a recording. */
export function listen(seconds, heard, wrong) {
  mic.hidden = !seconds;
  let [busy, end] = [false, () => {}];
  const begin = async (event) => {
    event.preventDefault();
    if (busy) return;
    busy = true;
    wrong(null);
    show("Starting …", true);
    const released = new Promise((resolve) => { end = () => { show("Transcribing …", false, true); resolve(); }; });
    const timer = setTimeout(end, 1000 * (seconds - 1));
    try {
      heard(await recorded(released));
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
  one("span", mic).textContent = words;
  mic.ariaPressed = String(held);
  mic.ariaBusy = String(busy);
}

async function recorded(released) {
  const stream = await navigator.mediaDevices?.getUserMedia({ audio: true }).catch(() => null);
  if (!stream) throw new Wrong({ what: "The microphone cannot be used", hint: "Allow it in the address bar, and open the page at http://127.0.0.1 or over https; or write." });
  try {
    const recorder = new MediaRecorder(stream, { audioBitsPerSecond: BITS });
    const sound = new Promise((resolve) => { recorder.ondataavailable = ({ data }) => resolve(data); });
    recorder.start();
    show("Listening …", true);
    const begun = performance.now();
    await released;
    const held = performance.now() - begun;
    recorder.stop();
    const words = held > LEAST && await transcribe(await sound);
    if (!words) throw new Wrong({ what: "No speech was heard", hint: "Hold the button for as long as you talk." });
    return words;
  } finally {
    for (const track of stream.getTracks()) track.stop();
  }
}
