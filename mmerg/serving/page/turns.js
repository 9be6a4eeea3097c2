/** The conversation: the user's turns, and for each the reply of one system, or of two side by side. */

import { makePreview } from "./attached.js";
import { button, find, formatSeconds, make, makeError, makeText, printable, updateChildren } from "./dom.js";
import { renderMarkdown } from "./markdown.js";
import { isRunning, shortTitle, summarize } from "./record.js";
import { replyId, selectedTry, userTurnId } from "./talk.js";

const ACTIVITIES = { mpa: "Reading your message", caef: "Working out how you feel", psp: "Planning the reply", sgrg: "Writing", gra: "Checking the reply" };

let drawn = null; // the chat in the list: turns of another chat have the same ids

/** Draws the turns. acts: the actions of buttons by name. Each gets the exchange, and the side of a reply. */
export function drawTurns(list, talk, acts) {
  const { exchanges } = talk;
  if (drawn !== talk) updateChildren(list, []);
  drawn = talk;
  let number = 0;
  updateChildren(list, exchanges.flatMap((exchange, place) => {
    const last = place === exchanges.length - 1;
    const turn = ++number;
    const reply = selectedTry(exchange.sides[0]).reply === null ? null : ++number;
    return [
      [userTurnId(exchange), [turn], () => makeTurn(exchange, turn, acts)],
      [`answers ${exchange.id}`, [reply, last, exchange.sides.map(({ at, tries }) => [at, tries.length, progress(tries[at])])], () =>
        make("li", { className: `answers answers-${exchange.sides.length}` }, exchange.sides.map((_, side) => makeReply(exchange, side, reply, last, acts)))],
    ];
  }));
  const latest = exchanges.at(-1);
  latest?.sides.forEach((side, place) => { // updates the text of a draft in place
    const draft = find(`#draft-${replyId(latest, place)}`);
    if (draft && draft.textContent !== printable(selectedTry(side).draft)) draft.textContent = printable(selectedTry(side).draft);
  });
}

const progress = (record) => [record.state, record.ahead, record.now, record.passes.length, record.reply, record.failed, Boolean(record.draft), record.frames?.length];

const makeSpeaker = (number, name, more = "") =>
  make("p", { className: "speaker" }, make("span", { className: "number" }, String(number ?? "")), name, more ? make("small", {}, printable(more)) : null);

function makeTurn(exchange, number, { edit, copy }) {
  return make("li", { className: "turn mine", id: userTurnId(exchange) }, makeSpeaker(number, "You"),
    exchange.words ? makeText(exchange.words, "text") : null,
    exchange.media.length ? make("div", { className: "media" }, exchange.media.map(makePreview)) : null,
    make("p", { className: "acts" },
      button("Edit", () => edit(exchange), { className: "slight idle", id: `edit-${exchange.id}`, "aria-label": `Edit turn ${number}` }),
      exchange.words ? button("Copy", () => copy(exchange.words), { className: "slight", "aria-label": `Copy turn ${number}` }) : null));
}

function makeReply(exchange, side, number, last, { look, tryAgain, flip, copy, read }) {
  const { at, tries } = exchange.sides[side];
  const record = tries[at];
  const id = replyId(exchange, side);
  const several = exchange.sides.length > 1 ? ` of ${shortTitle(record.system)}` : "";
  return make("article", { className: `turn theirs ${record.state}`, id, "aria-label": `Reply${several}` },
    makeSpeaker(number, exchange.sides.length > 1 ? shortTitle(record.system) : "mmerg"),
    record.reply === null && record.draft ? make("p", { className: "text draft", dir: "auto", id: `draft-${id}` }, printable(record.draft)) : null,
    isRunning(record) ? makeProgress(record, () => look(exchange)) : null,
    record.reply !== null ? make("div", { className: "text" }, renderMarkdown(record.reply)) : null,
    record.failed ? make("div", { className: "failure" }, make("p", { className: "what" }, "There is no reply."), ...makeError(record.failed)) : null,
    record.state === "stopped" ? make("p", { className: "note" }, record.lost ? "The page was closed before the reply arrived." : "Stopped.") : null,
    makeUnseenNote(exchange, record),
    make("div", { className: "under" }, isRunning(record) ? null : button(summarize(record) || "How the reply came about", () => look(exchange), { className: "line look", id: `look-${id}`, "data-look": String(exchange.id), "aria-expanded": "false", title: "What the agents saw and thought" }), make("p", { className: "acts" },
      record.reply ? button("Copy", () => copy(record.reply), { className: "slight", "aria-label": "Copy the reply" }) : null,
      record.reply ? button("Read aloud", () => read(record.reply), { className: "slight aloud" }) : null,
      last && (tries.length > 1 || !isRunning(record)) ? button("Try again", () => tryAgain(exchange, side), { className: "slight idle", id: `again-${id}` }) : null,
      tries.length > 1 ? make("span", { className: "tries" },
        button("‹", () => flip(exchange, side, at - 1), { className: "slight idle", id: `before-${id}`, "aria-label": "Previous try", disabled: at === 0 || !last }),
        `${at + 1} of ${tries.length}`,
        button("›", () => flip(exchange, side, at + 1), { className: "slight idle", id: `after-${id}`, "aria-label": "Next try", disabled: at === tries.length - 1 || !last })) : null)));
}

/** Makes a note below a reply about attachments that the system could not use. */
function makeUnseenNote({ media }, { system, frames, problem: why, state }) {
  if (!media.length || (!frames && state !== "done")) return null;
  const what = media.every(({ kind }) => kind === "clip") ? "clip" : media.length > 1 ? "pictures" : "picture";
  const reason = system.sees ? why.replace(/turn \d+: /g, "").replaceAll("_", " ") : `${shortTitle(system)} reads text only`;
  if (system.sees && frames?.length) return null;
  return makeText(`Answered without your ${what}${reason ? `: ${reason}` : ""}.`, "problem unseen");
}

/** Makes a line with the running agent, as text and as a row of dots. */
function makeProgress(record, look) {
  const { agents } = record.system;
  const pass = Math.max(0, record.passes.length - 1);
  const agent = agents.find(({ name }) => name === record.now);
  const doing = ACTIVITIES[record.now] ?? (agent && agents.length > 1 ? agent.title : agent ? "Writing" : "Looking");
  const words = record.state === "sent" ? "Sent" : record.ahead ? `${record.ahead} before you` : pass ? `${doing}, draft ${pass + 1}` : doing;
  const place = agents.indexOf(agent);
  return button(make("span", { className: "dots", "aria-hidden": "true" }, agents.map((_, number) => make("i", { className: number < place ? "past" : number === place ? "now" : "" }))), look,
    { className: "line under-way", title: "What the agents see and think" },
    `${words} …`, make("span", { className: "took", "data-since": String(record.begun) }, formatSeconds((performance.now() - record.begun) / 1000)));
}
