/** Shows an enlarged keyframe, with buttons for its neighbours. */

import { find, printable } from "./dom.js";

const viewer = find("#viewer");
let frames = [];
let current = 0;

export const nameFrame = ({ number, turn }) => `Keyframe ${number} of turn ${turn}`;

function show(index) {
  current = Math.min(Math.max(index, 0), frames.length - 1);
  const frame = frames[current];
  const name = nameFrame(frame);
  const caption = [`${name}, at ${frame.time.toFixed(1)} s`, printable(frame.description ?? "")];
  Object.assign(find("img", viewer), { src: frame.url, alt: name });
  find("p", viewer).textContent = caption.filter(Boolean).join(" · ");
  find("[data-step='-1']", viewer).disabled = current === 0;
  find("[data-step='1']", viewer).disabled = current === frames.length - 1;
}

/** Shows one of these frames, by its index. */
export function enlarge(allFrames, index) {
  frames = allFrames;
  show(index);
  viewer.showModal();
}

viewer.addEventListener("click", ({ target }) => {
  if (target.dataset.step) show(current + Number(target.dataset.step));
});
viewer.addEventListener("keydown", ({ key }) => {
  if (key === "ArrowLeft") show(current - 1);
  if (key === "ArrowRight") show(current + 1);
});
