/** The list of earlier chats, and copying and downloading. */

import { button, find, make, makeError, printable } from "./dom.js";
import * as store from "./store.js";

const DAY = 86_400_000;
const formatTime = (at) => Date.now() - at < DAY ? new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) : new Date(at).toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" });

/** Draws the list. now: the id of the open chat. open(id), remove(head): called for a chat of the list. */
export async function drawChats(now, open, remove) {
  const list = find("#chat-list");
  try {
    const heads = await store.listHeads();
    find("#no-chats").hidden = heads.length > 0;
    list.replaceChildren(...heads.map((head) => make("li", {},
      button(make("span", { dir: "auto" }, printable(head.title)), () => open(head.id), { className: "chat", ...(head.id === now ? { "aria-current": "true" } : {}) }, make("small", {}, formatTime(head.at))),
      button("Delete", () => remove(head), { className: "slight", "aria-label": `Delete the chat ${printable(head.title)}` }))));
  } catch (error) {
    list.replaceChildren(make("li", {}, ...makeError({ what: "This browser cannot store chats", hint: `Download the chats you want to keep. (${error?.message ?? error})` })));
  }
}

/** Copies a text to the clipboard; returns whether it worked. */
export async function copy(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch { // not available over http from another machine
    const area = make("textarea", { value: words, className: "aside" });
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}

export function download(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
