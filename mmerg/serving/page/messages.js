/** The conversation: the user's turns, and for each the reply of one system, or of two side by side. */

import { makePreview } from "./attachments.js";
import { getSelectedTry, replyId, userTurnId } from "./chat.js";
import { find, make, makeButton, makeError, makeText, makeTimer, printable, updateChildren } from "./dom.js";
import { renderMarkdown } from "./markdown.js";
import { isRunning, shortTitle, summarize } from "./record.js";

const ACTIVITIES = {
  mpa: "Reading your message",
  caef: "Working out how you feel",
  psp: "Planning the reply",
  sgrg: "Writing",
  gra: "Checking the reply",
};

let drawnChat = null; // turns of another chat have the same ids

/** Draws the turns. actions: the actions of buttons by name. Each gets the exchange, and the column of a reply. */
export function drawMessages(list, chat, actions) {
  if (drawnChat !== chat) updateChildren(list, []);
  drawnChat = chat;
  const last = chat.exchanges.at(-1);
  let turns = 0;
  updateChildren(list, chat.exchanges.flatMap((exchange) => {
    const turn = turns + 1;
    const replyTurn = getSelectedTry(exchange.replies[0]).reply === null ? null : turn + 1;
    turns = replyTurn ?? turn;
    const states = exchange.replies.map(({ tries, selected }) => [selected, tries.length, getState(tries[selected])]);
    return [
      [userTurnId(exchange), [turn], () => makeMessage(exchange, turn, actions)],
      [`replies-${exchange.id}`, [replyTurn, exchange === last, states],
        () => makeReplies(exchange, replyTurn, exchange === last, actions)],
    ];
  }));
  last?.replies.forEach((reply, column) => { // updates the text of a draft in place
    const text = printable(getSelectedTry(reply).draft);
    const draft = find(`#draft-${replyId(last, column)}`);
    if (draft && draft.textContent !== text) draft.textContent = text;
  });
}

const getState = ({ state, ahead, runningAgent, passes, reply, error, draft, frames }) =>
  [state, ahead, runningAgent, passes.length, reply, error, Boolean(draft), frames?.length];

const makeSpeaker = (turn, name) =>
  make("p", { className: "speaker" }, make("span", { className: "turn-number" }, String(turn ?? "")), name);

const makeSmallButton = (label, onclick, properties = {}) =>
  makeButton(label, onclick, { className: "small", ...properties });

function makeMessage(exchange, turn, { edit, copy }) {
  const editing = { className: "small idle-only", id: `edit-${exchange.id}`, "aria-label": `Edit turn ${turn}` };
  return make("li", { className: "message user", id: userTurnId(exchange) },
    makeSpeaker(turn, "You"),
    exchange.text && makeText(exchange.text, "text"),
    exchange.media.length && make("div", { className: "media" }, exchange.media.map(makePreview)),
    make("p", { className: "actions" },
      makeSmallButton("Edit", () => edit(exchange), editing),
      exchange.text && makeSmallButton("Copy", () => copy(exchange.text), { "aria-label": `Copy turn ${turn}` })));
}

const makeReplies = (exchange, turn, isLast, actions) =>
  make("li", { className: `replies replies-${exchange.replies.length}` },
    exchange.replies.map((_, column) => makeReply(exchange, column, turn, isLast, actions)));

function makeReply(exchange, column, turn, isLast, actions) {
  const record = getSelectedTry(exchange.replies[column]);
  const id = replyId(exchange, column);
  const title = shortTitle(record.system);
  const isCompared = exchange.replies.length > 1;
  const inspect = () => actions.inspect(exchange);
  const label = isCompared ? `Reply of ${title}` : "Reply";
  const hasReply = record.reply !== null;
  const readAloud = { className: "small read-aloud" };
  const stopped = record.interrupted ? "The page was closed before the reply arrived." : "Stopped.";
  return make("article", { className: "message assistant", id, "aria-label": label },
    makeSpeaker(turn, isCompared ? title : "mmerg"),
    !hasReply && record.draft && Object.assign(makeText(record.draft, "text draft"), { id: `draft-${id}` }),
    isRunning(record) && makeProgress(record, inspect),
    hasReply && make("div", { className: "text" }, renderMarkdown(record.reply)),
    record.error && make("div", { className: "failure" },
      make("p", { className: "what" }, "There is no reply."), makeError(record.error)),
    record.state === "stopped" && make("p", { className: "note" }, stopped),
    makeUnusedNote(exchange, record),
    make("div", { className: "message-footer" },
      !isRunning(record) && makeInspectButton(exchange, record, id, inspect),
      make("p", { className: "actions" },
        record.reply && makeSmallButton("Copy", () => actions.copy(record.reply), { "aria-label": "Copy the reply" }),
        record.reply && makeSmallButton("Read aloud", () => actions.read(record.reply), readAloud),
        makeTries(exchange, column, isLast, actions))));
}

const makeInspectButton = (exchange, record, id, inspect) =>
  makeButton(summarize(record) || "How the reply was made", inspect, {
    className: "text-button inspect", id: `inspect-${id}`, title: "What the agents saw and thought",
    "data-inspect": String(exchange.id), "aria-expanded": "false",
  });

/** Makes the buttons for another try, and for earlier and later tries. */
function makeTries(exchange, column, isLast, { tryAgain, selectTry }) {
  const { tries, selected } = exchange.replies[column];
  const id = replyId(exchange, column);
  const makeStep = (label, step, name) => makeSmallButton(label, () => selectTry(exchange, column, selected + step), {
    className: "small idle-only", id: `${name}-${id}`, "aria-label": `${name === "next" ? "Next" : "Previous"} try`,
    disabled: !isLast || !tries[selected + step],
  });
  const again = { className: "small idle-only", id: `again-${id}` };
  return [
    isLast && (tries.length > 1 || !isRunning(tries[selected]))
      && makeSmallButton("Try again", () => tryAgain(exchange, column), again),
    tries.length > 1 && make("span", { className: "tries" },
      makeStep("‹", -1, "previous"), `${selected + 1} of ${tries.length}`, makeStep("›", 1, "next")),
  ];
}

/** Makes a note below a reply about attachments that the system could not use. */
function makeUnusedNote({ media }, { system, frames, problem, state }) {
  if (!media.length || (!frames && state !== "done") || (system.sees && frames?.length)) return null;
  let what = media.length > 1 ? "pictures" : "picture";
  if (media.every(({ kind }) => kind === "clip")) what = "clip";
  let reason = `${shortTitle(system)} reads text only`;
  if (system.sees) reason = problem.replace(/turn \d+: /g, "").replaceAll("_", " ");
  return makeText(`Answered without your ${what}${reason && `: ${reason}`}.`, "problem unused-media");
}

/** Makes a line with the running agent, as text and as a row of dots. */
function makeProgress(record, inspect) {
  const { agents } = record.system;
  const current = agents.findIndex(({ name }) => name === record.runningAgent);
  const dots = agents.map((_, index) => {
    let className = "";
    if (index < current) className = "done";
    else if (index === current) className = "current";
    return make("i", { className });
  });
  return makeButton(make("span", { className: "dots", "aria-hidden": "true" }, dots), inspect,
    { className: "text-button progress", title: "What the agents see and think" },
    `${describeProgress(record, agents[current])} …`, makeTimer(record.startedAt));
}

function describeProgress({ state, ahead, runningAgent, passes, system }, agent) {
  if (state === "sent") return "Sent";
  if (ahead) return ahead === 1 ? "Waiting for 1 other turn" : `Waiting for ${ahead} other turns`;
  let activity = ACTIVITIES[runningAgent] ?? "Looking at your message";
  if (agent && !ACTIVITIES[runningAgent]) activity = system.agents.length > 1 ? agent.title : "Writing";
  return passes.length > 1 ? `${activity}, draft ${passes.length}` : activity;
}
