/** What goes along with a message: one clip or some pictures, picked, dropped or pasted. */

import { button, make, shown } from "./dom.js";
import { Wrong } from "./wire.js";

const MEGA = 2 ** 20;

/** A clip or picture as it is shown: small, and a clip plays only if asked. */
export function preview({ kind, url, name }) {
  if (kind !== "clip") return make("img", { src: url, alt: `Picture ${shown(name)}` });
  const video = make("video", { src: url, muted: true, loop: true, playsInline: true, preload: "auto" });
  const play = () => element.classList.toggle("playing", video.paused) ? video.play() : video.pause();
  const element = button(video, play, { className: "clip", "aria-label": `Play or pause the clip ${shown(name)}` });
  video.addEventListener("error", () => element.replaceWith(make("span", { className: "note" }, shown(name)))); // of a kind that mmerg may read all the same
  return element;
}

/** A file as something that can go along; its url is the page's own. */
export const medium = (file) => ({ kind: file.type.startsWith("video/") ? "clip" : "picture", file, name: file.name, url: URL.createObjectURL(file) });

/** What is held with these files added: a clip stands alone. Fails with what is wrong with them. */
export function added(held, files, limits) {
  const odd = files.find((file) => !/^(video|image)\//.test(file.type));
  if (odd) throw new Wrong({ what: `${odd.name} is neither a clip nor a picture`, hint: "Drop a video file or pictures." });
  const clips = files.filter((file) => file.type.startsWith("video/"));
  if (clips.length > 1 || (clips.length && files.length > 1)) throw new Wrong({ what: "One clip, or some pictures, go along with a message", hint: "Drop one clip alone." });
  const most = clips.length ? limits.clip_mb : limits.picture_mb;
  const large = files.find((file) => file.size > most * MEGA);
  if (large) throw new Wrong({ what: `${large.name} has ${(large.size / MEGA).toFixed(1)} MB, at most ${most} are taken`, hint: "Make it shorter or smaller." });
  const pictures = clips.length ? [] : held.filter((one) => one.kind === "picture");
  if (pictures.length + files.length > limits.pictures && !clips.length) throw new Wrong({ what: `At most ${limits.pictures} pictures go along with a message`, hint: "Take some off." });
  return [...pictures, ...files.map(medium)];
}

export function drawAttached(list, held, remove) {
  list.hidden = !held.length;
  list.replaceChildren(...held.map((one, place) =>
    make("li", {}, preview(one), button("×", () => remove(place), { "aria-label": `Take off ${shown(one.name)}` }))));
}
