/** Settings that this browser stores: colours and speech. */

import { all, one } from "./dom.js";
import { hears, speaks } from "./speech.js";

const read = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
const write = (name, value) => { try { localStorage.setItem(name, value); } catch { /* some browsers forbid storage: the setting is lost on reload */ } };

/** Connects the settings dialog. seconds: see `hears`. changed(): called after each change. Returns {talking, reading}. */
export function settings(seconds, changed) {
  const can = { talking: hears(seconds), reading: speaks };
  const set = { get talking() { return one("#talking").checked; }, get reading() { return one("#reading").checked; } };
  one("#theme").value = document.documentElement.dataset.theme;
  one("#theme").addEventListener("change", ({ target }) => { write("theme", document.documentElement.dataset.theme = target.value); });
  for (const name of ["talking", "reading"]) {
    const box = one(`#${name}`);
    box.checked = can[name] && read(name) === "on";
    box.disabled = !can[name];
    box.addEventListener("change", () => { write(name, box.checked ? "on" : "off"); changed(); });
  }
  for (const note of all("[data-lacks]")) note.hidden = can[note.dataset.lacks];
  return set;
}
