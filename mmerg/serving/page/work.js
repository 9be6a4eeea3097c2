/** What the agents see and write: the steps of each system, as its record grows. */

import { button, formatSeconds, make, makeError, makeText, printable, updateChildren } from "./dom.js";
import { makeFields } from "./fields.js";
import { findAuditor, findOrigin, isRunning, listStages, rewordForUsers, shortTitle, viewedPass } from "./record.js";
import { enlarge } from "./viewer.js";

const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** Draws records side by side. changed(): called when the user selects another pass. */
export function drawWork(box, records, changed) {
  box.className = `works-${records.length}`;
  updateChildren(box, records.map(({ system }, side) => [`${side} ${system.id}`, 0, () => make("article", { className: "agents" },
    make("h3", {}, printable(shortTitle(system))), make("div", { className: "passes", role: "group", "aria-label": "Drafts" }), make("ol", { className: "steps" }))]));
  records.forEach((record, side) => {
    const [, passes, steps] = box.children[side].children;
    passes.hidden = record.passes.length < 2;
    updateChildren(passes, record.passes.map((pass) => passButton(record, pass, side, changed)));
    updateChildren(steps, [framesStep(record), ...agentSteps(record), ...auditStep(record), ...endStep(record)]);
  });
}

function passButton(record, { number, audit }, side, changed) {
  const pressed = viewedPass(record) === number;
  const selected = record.chosen?.pass === number;
  const passed = audit?.findings.map((finding) => finding.passed) ?? [];
  const look = () => { record.view = number; changed(); };
  return [number, [pressed, selected, passed], () => {
    const marks = make("span", { className: "marks", "aria-hidden": "true" }, passed.map((good) => make("span", { className: good ? "good" : "bad" }, good ? "✓" : "✗")));
    const count = make("span", { className: "aside" }, passed.length ? `, ${passed.filter(Boolean).length} of ${passed.length} checks passed` : "");
    const element = button(`Draft ${number + 1}`, look, { className: "pass", id: `pass-${side}-${number}`, "aria-pressed": pressed });
    element.append(marks, count, ...(selected ? [make("span", { className: "tag good" }, "sent")] : []));
    return element;
  }];
}

/** Makes a step. state: waits, asked, said, kept or lost. mark: the text in its circle. */
function makeStep(state, mark, title, took, ...body) {
  return make("li", { className: `step ${state}` },
    make("span", { className: "node", "aria-hidden": "true" }, printable(mark)),
    make("div", { className: "card" },
      make("div", { className: "head" }, make("h4", {}, printable(title)), took), ...body));
}

const hasEnded = (record) => record.state !== "idle" && !isRunning(record);
const makeNote = (words, className = "took") => make("span", { className }, words);
const makeTimer = (begun) => make("span", { className: "took", "data-since": String(begun) }, formatSeconds((performance.now() - begun) / 1000));

function framesStep({ frames, problem, state }) {
  const taken = frames ?? [];
  const open = (number) => enlarge(taken, number);
  return ["frames", [frames, problem, state === "idle"], () => makeStep(taken.length ? "said" : "waits", "◉", "What was seen",
    makeNote(taken.length ? plural(taken.length, "frame") : frames ? "text only" : ""),
    taken.length ? make("div", { className: "shots" }, taken.map((frame, place) => makeShot(frame, () => open(place)))) : null,
    problem ? makeText(`${taken.length ? "Some frames are missing" : "No frames"}: ${problem.replaceAll("_", " ")}.`, "problem") : null)];
}

function makeShot(frame, open) {
  const name = `Keyframe ${frame.number} of turn ${frame.turn}`;
  return make("figure", { className: "shot", "data-frame": String(frame.number) },
    make("button", { type: "button", className: "enlarge", onclick: open }, make("img", { src: frame.url, alt: name })),
    make("figcaption", {}, make("strong", {}, String(frame.number)), ` ${frame.time.toFixed(1)} s`, frame.description ? makeText(frame.description, "described", "span") : null));
}

function agentSteps(record) {
  const agents = listStages(record);
  const at = viewedPass(record);
  return agents.map(({ name, title }, place) => {
    const made = findOrigin(record, at, place, agents);
    const agent = record.passes[made]?.agents[name];
    const state = made < at ? "kept" : agent?.state === "said" ? "said" : hasEnded(record) ? "lost" : agent?.state ?? "waits";
    const again = made === at && record.passes[at]?.from === name ? record.passes[at].reason : null;
    return [name, [agent, state, made, again], () => makeStep(state, String(place + 1), title, makeDuration(state, agent, made),
      again === null ? null : make("div", { className: "again" }, make("strong", {}, "Rerun from here. "), makeText(rewordForUsers(again, record.system.agents), "", "span")),
      ...(agent?.supplied ?? []).map(makeSource),
      ...(agent?.refused ?? []).map(makeComplaint),
      agent?.state === "said" ? makeFields(agent.output, makeCitation(record)) : null)];
  });
}

function makeDuration(state, agent, made) {
  if (state === "asked") return makeTimer(agent.since);
  if (state === "kept") return makeNote(`as in draft ${made + 1}`);
  if (state === "lost") return makeNote(agent?.state === "asked" ? "not finished" : "not reached");
  return makeNote(state === "said" ? formatSeconds(agent.seconds) : "");
}

/** Makes links from evidence to the turn or frame that it cites. */
const makeCitation = (record) => (kind, number) => {
  const frame = kind === "frame" ? record.frames?.find((candidate) => candidate.number === number) : null;
  const target = kind === "turn" ? record.places[number - 1] : frame;
  const label = `${kind} ${number}`;
  if (!target) return make("span", { className: "cite" }, label);
  const thumb = frame ? make("img", { src: frame.url, alt: "" }) : null;
  const open = () => (frame ? enlarge(record.frames, record.frames.indexOf(frame)) : document.getElementById(target)?.scrollIntoView({ block: "nearest" }));
  return make("button", { type: "button", className: "cite", onclick: open, "data-cites": frame ? `frame ${number}` : target }, thumb, label);
};

const makeComplaint = (complaint) => make("div", { className: "refused" }, make("strong", {}, "Asked again. "), makeText(complaint, "", "span"));

function makeSource({ symbol, items, problem }) {
  if (!items.length) return problem ? makeText(problem, "problem") : null;
  const summary = symbol === "M" ? plural(items.length, "example") : plural(items.length, "hint");
  return make("details", { className: "source" }, make("summary", {}, summary), make("ul", { className: "exemplars" }, items.map(makeExemplar)));
}

function makeExemplar(item) {
  if (!item.reply) return make("li", {}, makeFields(item, (kind, number) => make("span", { className: "cite" }, `${kind} ${number}`)));
  const last = item.history?.at(-1);
  return make("li", {}, last ? makeText(last.text, "after") : null, makeText(item.reply),
    Number.isFinite(item.similarity) ? make("span", { className: "likeness" }, item.similarity.toFixed(2)) : null);
}

/** The findings of an auditor, one for each agent, or the output of a critic. */
function auditStep(record) {
  const agent = findAuditor(record.system);
  if (!agent) return [];
  const pass = record.passes[viewedPass(record)];
  const audit = pass?.audit;
  const critic = pass?.agents[agent.name];
  const unfinished = pass?.lost;
  const state = audit ? "said" : critic?.state === "said" ? "said" : hasEnded(record) ? "lost" : critic?.state ?? "waits";
  const good = audit && audit.findings.length > 0 && audit.findings.every((finding) => finding.passed);
  return [["the audit", [audit, critic, state, unfinished], () => makeStep(audit ? `said ${good ? "good" : "bad"}` : state, audit ? (good ? "✓" : "✗") : String(record.system.agents.length), agent.title, makeDuration(state, audit ?? critic),
    ...(critic?.refused ?? []).map(makeComplaint),
    audit ? make("ul", { className: "findings" }, audit.findings.map((finding) => makeFinding(finding, audit, record.system.agents))) : null,
    critic?.output ? makeFields(critic.output, makeCitation(record)) : null,
    audit?.problem ? makeText(audit.problem, "problem") : null,
    unfinished ? makeText(`This draft could not be finished: ${rewordForUsers(unfinished, record.system.agents)}`, "problem") : null)]];
}

function makeFinding({ check, passed, reason }, { blamed, instruction }, agents) {
  const title = agents.find((agent) => agent.name === check)?.title ?? check;
  const first = check === blamed;
  return make("li", {},
    make("span", { className: `mark ${passed ? "good" : "bad"}` }, make("span", { "aria-hidden": "true" }, passed ? "✓ " : "✗ "), printable(title), make("span", { className: "aside" }, passed ? " passed" : " failed")),
    first ? make("span", { className: "first" }, "first fault") : null, makeText(reason),
    first && instruction ? make("p", { className: "correction", dir: "auto" }, make("strong", {}, "Correction "), printable(instruction)) : null);
}

function endStep({ chosen: selected, cost, failed, state, system }) {
  if (failed) return [["end", failed, () => makeStep("bad", "!", "There is no reply", makeNote(""), ...makeError(failed))]];
  if (state === "stopped") return [["end", state, () => makeStep("lost", "■", "Stopped", makeNote(""))]];
  if (!selected && !cost) return [];
  const spent = cost ? `${plural(cost.calls, "call")}, ${plural(cost.prompt_tokens, "token")} read, ${plural(cost.response_tokens, "token")} written, ${formatSeconds(cost.seconds)}` : "";
  return [["end", [selected, cost], () => makeStep("said good", "★", selected?.passes > 1 ? `Draft ${selected.pass + 1} was sent` : "The reply", makeNote(""),
    selected?.why ? makeText(rewordForUsers(selected.why, system.agents)) : null, spent ? make("p", { className: "cost" }, spent) : null)]];
}
