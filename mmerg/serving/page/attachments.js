/** Attachments of a message: one clip or several pictures, which the server has checked. */

import { checkFile, PageError } from "./api.js";
import { make, makeButton, printable, uuid } from "./dom.js";

const MEGABYTE = 2 ** 20;

/** Makes a small element for a clip or picture. A clip plays on a click. */
export function makePreview({ kind, url, poster, name }) {
  const label = printable(name);
  if (kind === "picture") return make("img", { src: poster ?? url, alt: `Picture ${label}` });
  const video = make("video", { src: url, muted: true, loop: true, playsInline: true, preload: "auto" });
  if (poster) video.poster = poster;
  const play = () => {
    element.classList.toggle("playing", video.paused);
    if (video.paused) video.play();
    else video.pause();
  };
  const element = makeButton(video, play, { className: "clip", "aria-label": `Play or pause the clip ${label}` });
  video.addEventListener("error", () => { // mmerg may read formats that the browser does not
    const still = poster && make("img", { src: poster, alt: `Clip ${label}` });
    element.replaceWith(still ?? make("span", { className: "note" }, label));
  });
  return element;
}

/** Makes an attachment. still: its first keyframe, as a picture. id: that of a stored attachment. */
export const makeAttachment = (file, kind, still = null, id = "") => ({
  id: id || uuid(), stored: Boolean(id), kind, file, name: file.name, still,
  url: URL.createObjectURL(file), poster: still && URL.createObjectURL(still),
});

export function releaseUrls({ url, poster }) {
  for (const address of [url, poster]) if (address) URL.revokeObjectURL(address);
}

// The signatures of file types. Each has [position, bytes] pairs, all of which are in a file of the type.
const PICTURES = [
  ...["hei", "hev", "mif1", "msf1", "avi"].map((brand) => [[4, `ftyp${brand}`]]),
  [[0, "\xff\xd8\xff"]], [[0, "\x89PNG"]], [[0, "GIF8"]], [[0, "RIFF"], [8, "WEBP"]], [[0, "BM"]], [[0, "II*\0"]],
  [[0, "MM\0*"]],
];
const CLIPS = [
  ...["ftyp", "moov", "mdat", "wide", "G@"].map((type) => [[4, type]]),
  [[0, "\x1aE\xdf\xa3"]], [[0, "RIFF"], [8, "AVI "]], [[0, "OggS"]], [[0, "FLV"]], [[0, "\0\0\x01\xba"]], [[0, "G@"]],
  [[0, "\x30\x26\xb2\x75"]],
];

/** Returns "clip" or "picture" by the bytes of a file, as browsers do not know all types; null for other files. */
export async function detectKind(file) {
  const bytes = String.fromCharCode(...new Uint8Array(await file.slice(0, 16).arrayBuffer()));
  const matches = (signature) => signature.every(([start, text]) => bytes.startsWith(text, start));
  if (PICTURES.some(matches)) return "picture";
  if (CLIPS.some(matches)) return "clip";
  return { image: "picture", video: "clip" }[file.type.split("/")[0]] ?? null;
}

/** Returns the attachments with these files added. A clip replaces all others. Throws PageError for unusable files. */
export async function addFiles(attachments, files, limits) {
  const kinds = await Promise.all(files.map(detectKind));
  const hasClip = kinds.includes("clip");
  const pictures = hasClip ? [] : attachments.filter(({ kind }) => kind === "picture");
  checkFiles(files, kinds, limits);
  if (!hasClip && pictures.length + files.length > limits.pictures) {
    throw new PageError({ what: `A message can have at most ${limits.pictures} pictures`, hint: "Remove some." });
  }
  const makeChecked = async (file, index) => makeAttachment(file, kinds[index], await readStill(kinds[index], file));
  return [...pictures, ...await Promise.all(files.map(makeChecked))];
}

function checkFiles(files, kinds, limits) {
  const unknown = files.find((file, index) => !kinds[index]);
  if (unknown) {
    const what = `${unknown.name} is neither a clip nor a picture`;
    throw new PageError({ what, hint: "Choose a video file, or JPEG or PNG pictures." });
  }
  const hasClip = kinds.includes("clip");
  if (hasClip && files.length > 1) {
    const what = "A message can have one clip or several pictures";
    throw new PageError({ what, hint: "Attach only one clip." });
  }
  const limit = hasClip ? limits.clip_mb : limits.picture_mb;
  const large = files.find(({ size }) => size > limit * MEGABYTE);
  if (large) {
    const what = `${large.name} has ${(large.size / MEGABYTE).toFixed(1)} MB; the limit is ${limit} MB`;
    throw new PageError({ what, hint: "Make it shorter or smaller." });
  }
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
  list.replaceChildren(...attachments.map((attachment, index) => {
    const label = `Remove ${printable(attachment.name)}`;
    return make("li", {}, makePreview(attachment), makeButton("×", () => remove(index), { "aria-label": label }));
  }));
}
