/** Speech, by what the browser has: hold to talk, and replies read aloud. Both are off until they are asked for. */

import { one } from "./dom.js";

const Recognition = window.SpeechRecognition ?? window.webkitSpeechRecognition;
export const hears = Boolean(Recognition);
export const speaks = "speechSynthesis" in window;

/** heard(words): called with what was said while #mic was held. wrong(error): where nothing can be heard. */
export function listen(heard, wrong) {
  const mic = one("#mic");
  let at = null;
  const begin = (event) => {
    if (at) return;
    event.preventDefault();
    speechSynthesis?.cancel();
    at = Object.assign(new Recognition(), { continuous: true, interimResults: false, lang: navigator.language });
    at.onresult = ({ results, resultIndex }) => heard(Array.from(results).slice(resultIndex).filter(({ isFinal }) => isFinal).map(([best]) => best.transcript.trim()).join(" "));
    at.onerror = ({ error }) => { if (error !== "no-speech" && error !== "aborted") wrong({ what: `Nothing could be heard: ${error.replaceAll("-", " ")}`, hint: "Allow the microphone at the address bar, or write." }); };
    at.onend = () => { at = null; mic.setAttribute("aria-pressed", "false"); };
    mic.setAttribute("aria-pressed", "true");
    at.start();
  };
  const end = () => at?.stop();
  mic.addEventListener("pointerdown", begin);
  for (const name of ["pointerup", "pointercancel", "pointerleave"]) mic.addEventListener(name, end);
  mic.addEventListener("keydown", (event) => { if ([" ", "Enter"].includes(event.key)) begin(event); });
  mic.addEventListener("keyup", end);
  mic.addEventListener("contextmenu", (event) => event.preventDefault()); // a long press
}

export function speak(words) {
  if (!speaks) return;
  speechSynthesis.cancel();
  speechSynthesis.speak(new SpeechSynthesisUtterance(words.replace(/[*_`#>]/g, "")));
}

export const hush = () => { if (speaks) speechSynthesis.cancel(); };
