/** Settings that this browser stores: colours and speech. */

import { find, findAll } from "./dom.js";
import { canSpeak, canTranscribe } from "./speech.js";

function read(name) {
  try {
    return localStorage.getItem(`mmerg-${name}`);
  } catch {
    return null;
  }
}

function write(name, value) {
  try {
    localStorage.setItem(`mmerg-${name}`, value);
  } catch { /* this browser forbids storage: the setting is lost on reload */ }
}

/** Connects the settings dialog. maxSeconds: see `canTranscribe`. changed(): called after each change. Returns the
    checkboxes. */
export function connectSettings(maxSeconds, changed) {
  const boxes = { dictation: find("#dictation"), readAloud: find("#read-aloud") };
  const supported = { "dictation": canTranscribe(maxSeconds), "read-aloud": canSpeak };
  const theme = find("#theme");
  theme.value = document.documentElement.dataset.theme;
  theme.addEventListener("change", () => {
    document.documentElement.dataset.theme = theme.value;
    write("theme", theme.value);
  });
  for (const box of Object.values(boxes)) {
    box.checked = supported[box.id] && read(box.id) === "on";
    box.disabled = !supported[box.id];
    box.addEventListener("change", () => {
      write(box.id, box.checked ? "on" : "off");
      changed();
    });
  }
  for (const note of findAll("[data-unsupported]")) note.hidden = supported[note.dataset.unsupported];
  return boxes;
}
