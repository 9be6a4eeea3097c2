/** The conversation: the user's turns, and for each the reply of one system, or of two side by side. */

import { preview } from "./attached.js";
import { button, keep, make, one as find, problem, seconds, shown, text } from "./dom.js";
import { markdown } from "./markdown.js";
import { going, short, summary } from "./record.js";
import { latest, mine, theirs } from "./talk.js";

const DOING = { mpa: "Reading your message", caef: "Working out how you feel", psp: "Planning the reply", sgrg: "Writing", gra: "Checking the reply" };

let drawn = null; // the chat in the list: turns of another chat have the same ids

/** acts: the actions of buttons by name; each gets the exchange, and the side of a reply. */
export function drawTurns(list, talk, acts) {
  const { exchanges } = talk;
  if (drawn !== talk) keep(list, []);
  drawn = talk;
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
  const one = exchanges.at(-1);
  one?.sides.forEach((side, place) => { // updates the text of a draft in place
    const draft = find(`#draft-${theirs(one, place)}`);
    if (draft && draft.textContent !== shown(latest(side).draft)) draft.textContent = shown(latest(side).draft);
  });
}

const progress = (record) => [record.state, record.ahead, record.now, record.passes.length, record.reply, record.failed, Boolean(record.draft), record.frames?.length];

const speaker = (number, name, more = "") =>
  make("p", { className: "speaker" }, make("span", { className: "number" }, String(number ?? "")), name, more ? make("small", {}, shown(more)) : null);

function said(one, number, { edit, copy }) {
  return make("li", { className: "turn mine", id: mine(one) }, speaker(number, "You"),
    one.words ? text(one.words, "text") : null,
    one.media.length ? make("div", { className: "media" }, one.media.map(preview)) : null,
    make("p", { className: "acts" },
      button("Edit", () => edit(one), { className: "slight idle", id: `edit-${one.id}`, "aria-label": `Edit turn ${number}` }),
      one.words ? button("Copy", () => copy(one.words), { className: "slight", "aria-label": `Copy turn ${number}` }) : null));
}

function answer(one, side, number, last, { look, again, flip, copy, read }) {
  const { at, tries } = one.sides[side];
  const record = tries[at];
  const id = theirs(one, side);
  const several = one.sides.length > 1 ? ` of ${short(record.system)}` : "";
  return make("article", { className: `turn theirs ${record.state}`, id, "aria-label": `Reply${several}` },
    speaker(number, one.sides.length > 1 ? short(record.system) : "mmerg"),
    record.reply === null && record.draft ? make("p", { className: "text draft", dir: "auto", id: `draft-${id}` }, shown(record.draft)) : null,
    going(record) ? underWay(record, () => look(one)) : null,
    record.reply !== null ? make("div", { className: "text" }, markdown(record.reply)) : null,
    record.failed ? make("div", { className: "failure" }, make("p", { className: "what" }, "There is no reply."), ...problem(record.failed)) : null,
    record.state === "stopped" ? make("p", { className: "note" }, record.lost ? "The page was closed before the reply arrived." : "Stopped.") : null,
    unseen(one, record),
    make("div", { className: "under" }, going(record) ? null : button(summary(record) || "How it came", () => look(one), { className: "line look", id: `look-${id}`, "data-look": String(one.id), "aria-expanded": "false", title: "What the agents saw and thought" }), make("p", { className: "acts" },
      record.reply ? button("Copy", () => copy(record.reply), { className: "slight", "aria-label": "Copy the reply" }) : null,
      record.reply ? button("Read aloud", () => read(record.reply), { className: "slight aloud" }) : null,
      last && (tries.length > 1 || !going(record)) ? button("Try again", () => again(one, side), { className: "slight idle", id: `again-${id}` }) : null,
      tries.length > 1 ? make("span", { className: "tries" },
        button("‹", () => flip(one, side, at - 1), { className: "slight idle", id: `before-${id}`, "aria-label": "Previous try", disabled: at === 0 || !last }),
        `${at + 1} of ${tries.length}`,
        button("›", () => flip(one, side, at + 1), { className: "slight idle", id: `after-${id}`, "aria-label": "Next try", disabled: at === tries.length - 1 || !last })) : null)));
}

/** A note below a reply about attachments that the system could not use. */
function unseen({ media }, { system, frames, problem: why, state }) {
  if (!media.length || (!frames && state !== "done")) return null;
  const what = media.every(({ kind }) => kind === "clip") ? "clip" : media.length > 1 ? "pictures" : "picture";
  const reason = system.sees ? why.replace(/turn \d+: /g, "").replaceAll("_", " ") : `${short(system)} reads text only`;
  if (system.sees && frames?.length) return null;
  return text(`Answered without your ${what}${reason ? `: ${reason}` : ""}.`, "problem unseen");
}

/** The running agent, as words and as a row of dots. */
function underWay(record, look) {
  const { agents } = record.system;
  const pass = Math.max(0, record.passes.length - 1);
  const agent = agents.find(({ name }) => name === record.now);
  const doing = DOING[record.now] ?? (agent && agents.length > 1 ? agent.title : agent ? "Writing" : "Looking");
  const words = record.state === "sent" ? "Sent" : record.ahead ? `${record.ahead} before you` : pass ? `${doing}, draft ${pass + 1}` : doing;
  const place = agents.indexOf(agent);
  return button(make("span", { className: "dots", "aria-hidden": "true" }, agents.map((_, number) => make("i", { className: number < place ? "past" : number === place ? "now" : "" }))), look,
    { className: "line under-way", title: "What the agents see and think" },
    `${words} …`, make("span", { className: "took", "data-since": String(record.begun) }, seconds((performance.now() - record.begun) / 1000)));
}
