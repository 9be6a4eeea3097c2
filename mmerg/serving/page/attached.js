/** Attachments of a message: one clip or several pictures, which the server has checked. */

import { button, make, printable, uuid } from "./dom.js";
import { checkFile, PageError } from "./wire.js";

const MEGA = 2 ** 20;

/** Makes a small element for a clip or picture. A clip plays on a click. */
export function makePreview({ kind, url, poster, name }) {
  const still = () => make("img", { src: poster ?? url, alt: `${kind === "clip" ? "Clip" : "Picture"} ${printable(name)}` });
  if (kind !== "clip") return still();
  const video = make("video", { src: url, muted: true, loop: true, playsInline: true, preload: "auto", ...(poster ? { poster } : {}) });
  const play = () => element.classList.toggle("playing", video.paused) ? video.play() : video.pause();
  const element = button(video, play, { className: "clip", "aria-label": `Play or pause the clip ${printable(name)}` });
  video.addEventListener("error", () => element.replaceWith(poster ? still() : make("span", { className: "note" }, printable(name)))); // mmerg may read formats that the browser does not
  return element;
}

/** Makes an attachment. still: its first keyframe, as a picture. id: that of a stored attachment. */
export const makeAttachment = (file, kind, still = null, id = "") =>
  ({ id: id || uuid(), kept: Boolean(id), kind, file, name: file.name, still, url: URL.createObjectURL(file), poster: still && URL.createObjectURL(still) });

export const releaseUrls = ({ url, poster }) => { for (const address of [url, poster]) if (address) URL.revokeObjectURL(address); };

/** Whether one of the signatures fits: all its [position, text] pairs are in the bytes. */
const matches = (bytes, ...signatures) => signatures.some((signature) => signature.every(([start, text]) => Array.from(text).every((character, offset) => bytes[start + offset] === character.charCodeAt(0))));

/** Returns "clip" or "picture" by the bytes of a file, as browsers do not know all types; null for other files. */
export async function detectKind(file) {
  const bytes = new Uint8Array(await file.slice(0, 16).arrayBuffer());
  if (matches(bytes, [[4, "ftyp"]])) return matches(bytes.slice(8), ...["hei", "hev", "mif1", "msf1", "avi"].map((brand) => [[0, brand]])) ? "picture" : "clip";
  if (matches(bytes, [[0, "\xff\xd8\xff"]], [[0, "\x89PNG"]], [[0, "GIF8"]], [[0, "RIFF"], [8, "WEBP"]], [[0, "BM"]], [[0, "II*\0"]], [[0, "MM\0*"]])) return "picture";
  if (matches(bytes, [[0, "\x1aE\xdf\xa3"]], [[0, "RIFF"], [8, "AVI "]], [[0, "OggS"]], [[0, "FLV"]], [[0, "\0\0\x01\xba"]], [[0, "G@"]], [[4, "G@"]], [[0, "\x30\x26\xb2\x75"]], [[4, "moov"]], [[4, "mdat"]], [[4, "wide"]])) return "clip";
  return { image: "picture", video: "clip" }[file.type.split("/")[0]] ?? null;
}

/** Returns the attachments with these files added. A clip replaces all others. Throws PageError for unusable files. */
export async function addFiles(attachments, files, limits) {
  const kinds = await Promise.all(files.map(detectKind));
  const unknown = files.find((file, place) => !kinds[place]);
  if (unknown) throw new PageError({ what: `${unknown.name} is neither a clip nor a picture`, hint: "Choose a video file, or JPEG or PNG pictures." });
  const hasClip = kinds.includes("clip");
  if (hasClip && files.length > 1) throw new PageError({ what: "A message can have one clip or several pictures", hint: "Attach only one clip." });
  const limit = hasClip ? limits.clip_mb : limits.picture_mb;
  const large = files.find((file) => file.size > limit * MEGA);
  if (large) throw new PageError({ what: `${large.name} has ${(large.size / MEGA).toFixed(1)} MB; the limit is ${limit} MB`, hint: "Make it shorter or smaller." });
  const pictures = hasClip ? [] : attachments.filter((attachment) => attachment.kind === "picture");
  if (!hasClip && pictures.length + files.length > limits.pictures) throw new PageError({ what: `A message can have at most ${limits.pictures} pictures`, hint: "Remove some." });
  return [...pictures, ...await Promise.all(files.map(async (file, place) => makeAttachment(file, kinds[place], await readStill(kinds[place], file))))];
}

async function readStill(kind, file) {
  try {
    return await checkFile(kind, file);
  } catch (error) {
    throw new PageError({ ...error, what: `${file.name} cannot be used: ${error.what}` });
  }
}

export function drawAttachments(list, attachments, remove) {
  list.hidden = !attachments.length;
  list.replaceChildren(...attachments.map((attachment, place) =>
    make("li", {}, makePreview(attachment), button("×", () => remove(place), { "aria-label": `Remove ${printable(attachment.name)}` }))));
}
