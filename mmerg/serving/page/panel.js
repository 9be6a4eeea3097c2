/** The agents' panel: what they see and write, as the steps of each system, which grow with its record. */

import {
  find, formatSeconds, make, makeButton, makeError, makeText, makeTimer, printable, updateChildren,
} from "./dom.js";
import { makeFields } from "./fields.js";
import {
  countPassed, findAuditor, findOrigin, getViewedPass, isRunning, listStages, rewordForUsers, shortTitle,
} from "./record.js";
import { enlarge, nameFrame } from "./viewer.js";

const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const makeHidden = (text) => make("span", { className: "visually-hidden" }, text);

/** Draws records side by side. changed(): called when the user selects another pass. */
export function drawPanel(box, records, changed) {
  box.className = `columns-${records.length}`;
  updateChildren(box, records.map(({ system }, column) => [`${column} ${system.id}`, 0, () => makeColumn(system)]));
  records.forEach((record, column) => {
    const passes = find(".passes", box.children[column]);
    passes.hidden = record.passes.length < 2;
    updateChildren(passes, record.passes.map((pass) => makePassPart(record, pass, column, changed)));
    updateChildren(find(".steps", box.children[column]),
      [makeFramesPart(record), ...makeAgentParts(record), ...makeAuditPart(record), ...makeEndPart(record)]);
  });
}

const makeColumn = (system) => make("article", { className: "system" },
  make("h3", {}, printable(shortTitle(system))),
  make("div", { className: "passes", role: "group", "aria-label": "Drafts" }),
  make("ol", { className: "steps" }));

function makePassPart(record, { number, audit }, column, changed) {
  const isViewed = getViewedPass(record) === number;
  const isSelected = record.selected?.pass === number;
  const findings = audit?.findings ?? [];
  const view = () => {
    record.viewedPass = number;
    changed();
  };
  const properties = { className: "pass", id: `pass-${column}-${number}`, "aria-pressed": isViewed };
  return [number, [isViewed, isSelected, findings], () => makeButton(`Draft ${number + 1}`, view, properties,
    make("span", { className: "marks", "aria-hidden": "true" }, findings.map(({ passed }) => makeMark(passed))),
    makeHidden(findings.length ? `, ${countPassed(findings)} passed` : ""),
    isSelected && make("span", { className: "tag good" }, "sent"))];
}

const makeMark = (passed) => make("span", { className: passed ? "good" : "bad" }, passed ? "✓" : "✗");

/** Makes a step. state: pending, running, done, kept or unfinished, or good or bad. mark: the text in its circle. note:
    a text or an element at the right of its title. */
const makeStep = (state, mark, title, note, ...body) => make("li", { className: `step ${state}` },
  make("span", { className: "step-mark", "aria-hidden": "true" }, printable(mark)),
  make("div", { className: "card" },
    make("div", { className: "card-header" },
      make("h4", {}, printable(title)),
      typeof note === "string" ? make("span", { className: "duration" }, note) : note),
    ...body));

/** Returns the state of a step. agent: its outputs, if it was reached. */
function getState(record, agent) {
  if (agent?.state === "done") return "done";
  if (record.state !== "idle" && !isRunning(record)) return "unfinished";
  return agent?.state ?? "pending";
}

function makeNote(state, agent, origin) {
  if (state === "running") return makeTimer(agent.startedAt);
  if (state === "kept") return `same as in draft ${origin + 1}`;
  if (state === "unfinished") return agent?.state === "running" ? "not finished" : "not reached";
  return state === "done" ? formatSeconds(agent.seconds) : "";
}

function makeFramesPart({ frames, problem, state }) {
  const shown = frames ?? [];
  const problemTitle = shown.length ? "Some frames are missing" : "No frames";
  let note = "";
  if (shown.length) note = plural(shown.length, "frame");
  else if (frames) note = "text only";
  return ["frames", [frames, problem, state === "idle"], () =>
    makeStep(shown.length ? "done" : "pending", "◉", "Keyframes", note,
      shown.length && make("div", { className: "keyframes" }, shown.map((_, index) => makeFrame(shown, index))),
      problem && makeText(`${problemTitle}: ${problem.replaceAll("_", " ")}.`, "problem"))];
}

function makeFrame(frames, index) {
  const frame = frames[index];
  const image = make("img", { src: frame.url, alt: nameFrame(frame) });
  return make("figure", { className: "keyframe", "data-frame": String(frame.number) },
    makeButton(image, () => enlarge(frames, index), { className: "enlarge" }),
    make("figcaption", {}, make("strong", {}, String(frame.number)), ` ${frame.time.toFixed(1)} s`,
      frame.description && makeText(frame.description, "description", "span")));
}

function makeAgentParts(record) {
  const agents = listStages(record);
  const viewed = getViewedPass(record);
  return agents.map(({ name, title }, index) => {
    const origin = findOrigin(record, viewed, index, agents);
    const agent = record.passes[origin]?.agents[name];
    const state = origin < viewed ? "kept" : getState(record, agent);
    const pass = record.passes[viewed];
    const reason = origin === viewed && pass?.rerunFrom === name ? pass.rerunReason : null;
    return [name, [agent, state, origin, reason], () =>
      makeStep(state, String(index + 1), title, makeNote(state, agent, origin),
        reason !== null && makeBox("rerun", "Rerun from here. ", rewordForUsers(reason, record.system.agents)),
        ...(agent?.sources ?? []).map(makeSource),
        ...(agent?.rejections ?? []).map(makeRejection),
        agent?.state === "done" && makeFields(agent.output, makeCitation(record)))];
  });
}

const makeBox = (className, title, text) =>
  make("div", { className }, make("strong", {}, title), makeText(text, "", "span"));

const makeRejection = (reason) => makeBox("rejection", "Asked again. ", reason);

/** Makes links from evidence to the turn or frame that it cites. */
const makeCitation = (record) => (kind, number) => {
  const label = `${kind} ${number}`;
  const frame = kind === "frame" && record.frames?.find((candidate) => candidate.number === number);
  const turnId = kind === "turn" && record.turnIds[number - 1];
  const scroll = () => document.getElementById(turnId)?.scrollIntoView({ block: "nearest" });
  const show = () => enlarge(record.frames, record.frames.indexOf(frame));
  if (turnId) return makeButton(label, scroll, { className: "citation", "data-cites": turnId });
  if (!frame) return make("span", { className: "citation" }, label);
  const thumbnail = make("img", { src: frame.url, alt: "" });
  return makeButton(thumbnail, show, { className: "citation", "data-cites": label }, label);
};

function makeSource({ symbol, items, problem }) {
  if (!items.length) return problem && makeText(problem, "problem");
  return make("details", {},
    make("summary", {}, plural(items.length, symbol === "M" ? "example" : "hint")),
    make("ul", { className: "exemplars" }, items.map(makeExemplar)));
}

function makeExemplar(item) {
  const cite = (kind, number) => make("span", { className: "citation" }, `${kind} ${number}`);
  if (!item.reply) return make("li", {}, makeFields(item, cite));
  const lastTurn = item.history?.at(-1);
  const hasSimilarity = Number.isFinite(item.similarity);
  return make("li", {},
    lastTurn && makeText(lastTurn.text, "last-turn"),
    makeText(item.reply),
    hasSimilarity && make("span", { className: "similarity" }, item.similarity.toFixed(2)));
}

/** Makes the step of an auditor with its findings, one for each agent, or with the output of a critic. */
function makeAuditPart(record) {
  const auditor = findAuditor(record.system);
  if (!auditor) return [];
  const { agents } = record.system;
  const { audit, error, agents: outputs } = record.passes[getViewedPass(record)] ?? {};
  const critic = outputs?.[auditor.name];
  const state = audit ? "done" : getState(record, critic);
  let mark = String(agents.length);
  let verdict = "";
  if (audit) {
    const passed = audit.findings.length > 0 && audit.findings.every((finding) => finding.passed);
    [mark, verdict] = passed ? ["✓", "good"] : ["✗", "bad"];
  }
  return [["audit", [audit, critic, state, error], () =>
    makeStep(verdict ? `done ${verdict}` : state, mark, auditor.title, makeNote(state, audit ?? critic),
      ...(critic?.rejections ?? []).map(makeRejection),
      audit && make("ul", { className: "findings" },
        audit.findings.map((finding) => makeFinding(finding, audit, agents))),
      critic?.output && makeFields(critic.output, makeCitation(record)),
      audit?.problem && makeText(audit.problem, "problem"),
      error && makeText(`This draft could not be finished: ${rewordForUsers(error, agents)}`, "problem"))]];
}

function makeFinding({ check, passed, reason }, { blamed, correction }, agents) {
  const title = agents.find(({ name }) => name === check)?.title ?? check;
  const isFirstFault = check === blamed;
  return make("li", {},
    make("span", { className: `mark ${passed ? "good" : "bad"}` },
      make("span", { "aria-hidden": "true" }, passed ? "✓ " : "✗ "), printable(title),
      makeHidden(passed ? " passed" : " failed")),
    isFirstFault && make("span", { className: "first-fault" }, "first fault"),
    makeText(reason),
    isFirstFault && correction && make("p", { className: "correction", dir: "auto" },
      make("strong", {}, "Correction "), printable(correction)));
}

function makeEndPart({ selected, cost, error, state, system }) {
  if (error) return [["end", error, () => makeStep("bad", "!", "There is no reply", "", ...makeError(error))]];
  if (state === "stopped") return [["end", state, () => makeStep("unfinished", "■", "Stopped", "")]];
  if (!selected && !cost) return [];
  const title = selected?.passes > 1 ? `Draft ${selected.pass + 1} was sent` : "The reply";
  return [["end", [selected, cost], () => makeStep("done good", "★", title, "",
    selected?.why && makeText(rewordForUsers(selected.why, system.agents)),
    cost && make("p", { className: "note" }, describeCost(cost)))]];
}

const describeCost = (cost) => [
  plural(cost.calls, "call"),
  `${plural(cost.prompt_tokens, "token")} read`,
  `${plural(cost.response_tokens, "token")} written`,
  formatSeconds(cost.seconds),
].join(", ");
