/** The list of earlier chats, and copying and downloading. */

import { find, make, makeButton, makeError, printable } from "./dom.js";
import * as store from "./store.js";

const DAY = 86_400_000; // milliseconds

function formatTime(time) {
  const date = new Date(time);
  if (Date.now() - time < DAY) return date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return date.toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" });
}

/** Draws the list. openId: the id of the open chat. open(id), remove(summary): called for a chat of the list. */
export async function drawChats(openId, open, remove) {
  const list = find("#chat-list");
  const makeItem = (summary) => {
    const title = printable(summary.title);
    const current = summary.id === openId ? { "aria-current": "true" } : {};
    const deleteLabel = { className: "small", "aria-label": `Delete the chat ${title}` };
    return make("li", {},
      makeButton(make("span", { dir: "auto" }, title), () => open(summary.id), { className: "chat-link", ...current },
        make("small", {}, formatTime(summary.updatedAt))),
      makeButton("Delete", () => remove(summary), deleteLabel));
  };
  try {
    const summaries = await store.listSummaries();
    find("#no-chats").hidden = summaries.length > 0;
    list.replaceChildren(...summaries.map(makeItem));
  } catch (error) {
    const hint = `Download the chats you want to keep. (${error?.message ?? error})`;
    list.replaceChildren(make("li", {}, ...makeError({ what: "This browser cannot store chats", hint })));
  }
}

/** Copies a text to the clipboard. Returns whether it worked. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { // not available over http from another machine
    const area = make("textarea", { value: text, className: "visually-hidden" });
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
