/** The conversation as it is read: my turns, and to each the reply of one system or of two beside each other. */

import { preview } from "./attached.js";
import { button, keep, make, problem, shown, text } from "./dom.js";
import { going, short } from "./record.js";
import { latest, mine, theirs } from "./talk.js";

/** acts: what the buttons do, by name; each gets the exchange, and the side where there is one. */
export function drawTurns(list, exchanges, acts) {
  let number = 0;
  keep(list, exchanges.flatMap((one, place) => {
    const last = place === exchanges.length - 1;
    const [asked, answered] = [++number, latest(one.sides[0]).reply === null ? null : ++number];
    return [
      [mine(one), [asked], () => said(one, asked, acts)],
      [`answers ${one.id}`, [answered, last, one.sides.map(({ at, tries }) => [at, tries.length, progress(tries[at])])], () =>
        make("li", { className: `answers answers-${one.sides.length}` }, one.sides.map((_, side) => answer(one, side, answered, last, acts)))],
    ];
  }));
}

const progress = (record) => [record.state, record.place, record.now, record.passes.length, record.reply, record.failed];

const speaker = (number, name, more = "") =>
  make("p", { className: "speaker" }, make("span", { className: "number" }, String(number ?? "")), name, more ? make("small", {}, shown(more)) : null);

function said(one, number, { edit }) {
  return make("li", { className: "turn mine", id: mine(one) }, speaker(number, "You"),
    one.words ? text(one.words, "text") : null,
    one.media.length ? make("div", { className: "media" }, one.media.map(preview)) : null,
    make("p", { className: "acts" }, button("Edit", () => edit(one), { className: "slight idle", id: `edit-${one.id}`, "aria-label": `Edit turn ${number}` })));
}

function answer(one, side, number, last, { look, again, flip }) {
  const { at, tries } = one.sides[side];
  const record = tries[at];
  const id = theirs(one, side);
  const several = one.sides.length > 1 ? ` of ${short(record.system)}` : "";
  return make("article", { className: `turn theirs ${record.state}`, id, "aria-label": `Reply${several}` },
    speaker(number, "mmerg", short(record.system)),
    going(record) ? underWay(record) : null,
    record.reply !== null ? text(record.reply, "text") : null,
    record.failed ? make("div", { className: "failure" }, ...problem(record.failed)) : null,
    record.state === "stopped" ? make("p", { className: "note" }, "Stopped.") : null,
    make("p", { className: "acts" },
      button("How it came", () => look(one), { className: "slight look", id: `look-${id}`, "data-look": String(one.id) }),
      last ? button("Try again", () => again(one, side), { className: "slight idle", id: `again-${id}` }) : null,
      tries.length > 1 ? make("span", { className: "tries" },
        button("‹", () => flip(one, side, at - 1), { className: "slight idle", id: `before-${id}`, "aria-label": "The try before", disabled: at === 0 || !last }),
        `${at + 1} of ${tries.length}`,
        button("›", () => flip(one, side, at + 1), { className: "slight idle", id: `after-${id}`, "aria-label": "The try after", disabled: at === tries.length - 1 || !last })) : null));
}

/** Who is at work, as words and as a row of dots. */
function underWay(record) {
  const { agents } = record.system;
  const pass = Math.max(0, record.passes.length - 1);
  const name = agents.find((agent) => agent.name === record.now)?.title ?? "Keyframes";
  const words = record.state === "sent" ? "Sending" : record.place ? `${record.place} before you` : pass ? `${name}, pass ${pass}` : name;
  const place = agents.findIndex((agent) => agent.name === record.now);
  return make("p", { className: "under-way" },
    make("span", { className: "dots", "aria-hidden": "true" }, agents.map((_, number) => make("i", { className: number < place ? "past" : number === place ? "now" : "" }))), `${words} …`);
}
