/** Settings that this browser stores: colours and speech. */

import { find, findAll } from "./dom.js";
import { canSpeak, canTranscribe } from "./speech.js";

const read = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
const write = (name, value) => { try { localStorage.setItem(name, value); } catch { /* this browser forbids storage: the setting is lost on reload */ } };

/** Connects the settings dialog. seconds: see `canTranscribe`. changed(): called after each change. Returns {talking, reading}. */
export function connectSettings(seconds, changed) {
  const can = { talking: canTranscribe(seconds), reading: canSpeak };
  const settings = { get talking() { return find("#talking").checked; }, get reading() { return find("#reading").checked; } };
  find("#theme").value = document.documentElement.dataset.theme;
  find("#theme").addEventListener("change", ({ target }) => { write("theme", document.documentElement.dataset.theme = target.value); });
  for (const name of ["talking", "reading"]) {
    const box = find(`#${name}`);
    box.checked = can[name] && read(name) === "on";
    box.disabled = !can[name];
    box.addEventListener("change", () => { write(name, box.checked ? "on" : "off"); changed(); });
  }
  for (const note of findAll("[data-lacks]")) note.hidden = can[note.dataset.lacks];
  return settings;
}
