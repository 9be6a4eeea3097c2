/** Shows an enlarged keyframe, with buttons for its neighbours. */

import { find, printable } from "./dom.js";

const viewer = find("#viewer");
let frames = [];
let at = 0;

function show(number) {
  at = Math.min(Math.max(number, 0), frames.length - 1);
  const frame = frames[at];
  Object.assign(find("img", viewer), { src: frame.url, alt: `Keyframe ${frame.number} of turn ${frame.turn}` });
  find("p", viewer).textContent = [`Keyframe ${frame.number} of turn ${frame.turn}, at ${frame.time.toFixed(1)} s`, printable(frame.description ?? "")].filter(Boolean).join(" · ");
  find("[data-step='-1']", viewer).disabled = at === 0;
  find("[data-step='1']", viewer).disabled = at === frames.length - 1;
}

/** Shows one of these frames, by its position. */
export function enlarge(allFrames, number) {
  frames = allFrames;
  show(number);
  viewer.showModal();
}

viewer.addEventListener("click", (event) => {
  if (event.target.dataset.step) show(at + Number(event.target.dataset.step));
});
viewer.addEventListener("keydown", (event) => {
  if (event.key === "ArrowLeft") show(at - 1);
  if (event.key === "ArrowRight") show(at + 1);
});
