/** Attachments of a message: one clip or several pictures, which the server has checked. */

import { button, make, shown, uuid } from "./dom.js";
import { Wrong, check } from "./wire.js";

const MEGA = 2 ** 20;

/** A small element for a clip or picture. A clip plays on a click. */
export function preview({ kind, url, poster, name }) {
  const still = () => make("img", { src: poster ?? url, alt: `${kind === "clip" ? "Clip" : "Picture"} ${shown(name)}` });
  if (kind !== "clip") return still();
  const video = make("video", { src: url, muted: true, loop: true, playsInline: true, preload: "auto", ...(poster ? { poster } : {}) });
  const play = () => element.classList.toggle("playing", video.paused) ? video.play() : video.pause();
  const element = button(video, play, { className: "clip", "aria-label": `Play or pause the clip ${shown(name)}` });
  video.addEventListener("error", () => element.replaceWith(poster ? still() : make("span", { className: "note" }, shown(name)))); // mmerg may read formats that the browser does not
  return element;
}

/** An attachment. still: its first keyframe, as a picture. id: of a stored attachment. */
export const medium = (file, kind, still = null, id = "") =>
  ({ id: id || uuid(), kept: Boolean(id), kind, file, name: file.name, still, url: URL.createObjectURL(file), poster: still && URL.createObjectURL(still) });

export const release = ({ url, poster }) => { for (const one of [url, poster]) if (one) URL.revokeObjectURL(one); };

const has = (bytes, ...wanted) => wanted.some((some) => some.every(([at, text]) => Array.from(text).every((one, place) => bytes[at + place] === one.charCodeAt(0))));

/** "clip" or "picture" by the bytes of a file, as browsers do not know all types; null for other files. */
export async function kindOf(file) {
  const bytes = new Uint8Array(await file.slice(0, 16).arrayBuffer());
  if (has(bytes, [[4, "ftyp"]])) return has(bytes.slice(8), ...["hei", "hev", "mif1", "msf1", "avi"].map((brand) => [[0, brand]])) ? "picture" : "clip";
  if (has(bytes, [[0, "\xff\xd8\xff"]], [[0, "\x89PNG"]], [[0, "GIF8"]], [[0, "RIFF"], [8, "WEBP"]], [[0, "BM"]], [[0, "II*\0"]], [[0, "MM\0*"]])) return "picture";
  if (has(bytes, [[0, "\x1aE\xdf\xa3"]], [[0, "RIFF"], [8, "AVI "]], [[0, "OggS"]], [[0, "FLV"]], [[0, "\0\0\x01\xba"]], [[0, "G@"]], [[4, "G@"]], [[0, "\x30\x26\xb2\x75"]], [[4, "moov"]], [[4, "mdat"]], [[4, "wide"]])) return "clip";
  return { image: "picture", video: "clip" }[file.type.split("/")[0]] ?? null;
}

/** The attachments with these files added; a clip replaces all others. Throws Wrong for unusable files. */
export async function added(held, files, limits) {
  const kinds = await Promise.all(files.map(kindOf));
  const odd = files.find((file, place) => !kinds[place]);
  if (odd) throw new Wrong({ what: `${odd.name} is neither a clip nor a picture`, hint: "Choose a video file, or JPEG or PNG pictures." });
  const clip = kinds.includes("clip");
  if (clip && files.length > 1) throw new Wrong({ what: "A message can have one clip or several pictures", hint: "Attach only one clip." });
  const most = clip ? limits.clip_mb : limits.picture_mb;
  const large = files.find((file) => file.size > most * MEGA);
  if (large) throw new Wrong({ what: `${large.name} has ${(large.size / MEGA).toFixed(1)} MB, at most ${most} are taken`, hint: "Make it shorter or smaller." });
  const pictures = clip ? [] : held.filter((one) => one.kind === "picture");
  if (!clip && pictures.length + files.length > limits.pictures) throw new Wrong({ what: `A message can have at most ${limits.pictures} pictures`, hint: "Remove some." });
  return [...pictures, ...await Promise.all(files.map(async (file, place) => medium(file, kinds[place], await seen(kinds[place], file))))];
}

async function seen(kind, file) {
  try {
    return await check(kind, file);
  } catch (error) {
    throw new Wrong({ ...error, what: `${file.name} cannot be used: ${error.what}` });
  }
}

export function drawAttached(list, held, remove) {
  list.hidden = !held.length;
  list.replaceChildren(...held.map((one, place) =>
    make("li", {}, preview(one), button("×", () => remove(place), { "aria-label": `Remove ${shown(one.name)}` }))));
}
