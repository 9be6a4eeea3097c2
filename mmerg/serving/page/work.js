/** What the agents see and write: the steps of each system, as its record grows. */

import { button, formatSeconds, make, makeError, makeText, printable, updateChildren } from "./dom.js";
import { fields } from "./fields.js";
import { findAuditor, isRunning, findOrigin, rewordForUsers, shortTitle, listStages, viewedPass } from "./record.js";
import { enlarge } from "./viewer.js";

const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** Shows records side by side. changed(): called when the user selects another pass. */
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
  const [pressed, selected] = [viewedPass(record) === number, record.selected?.pass === number];
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

/** state: waits, asked, said, kept or lost. mark: the text in its circle. */
function step(state, mark, title, took, ...body) {
  return make("li", { className: `step ${state}` },
    make("span", { className: "node", "aria-hidden": "true" }, printable(mark)),
    make("div", { className: "card" },
      make("div", { className: "head" }, make("h4", {}, printable(title)), took), ...body));
}

const ended = (record) => record.state !== "idle" && !isRunning(record);
const note = (words, className = "took") => make("span", { className }, words);
const since = (begun) => make("span", { className: "took", "data-since": String(begun) }, formatSeconds((performance.now() - begun) / 1000));

function framesStep({ frames, problem, state }) {
  const taken = frames ?? [];
  const open = (number) => enlarge(taken, number);
  return ["frames", [frames, problem, state === "idle"], () => step(taken.length ? "said" : "waits", "◉", "What was seen",
    note(taken.length ? plural(taken.length, "frame") : frames ? "text only" : ""),
    taken.length ? make("div", { className: "shots" }, taken.map((frame, place) => shot(frame, () => open(place)))) : null,
    problem ? makeText(`${taken.length ? "Some frames are missing" : "No frames"}: ${problem.replaceAll("_", " ")}.`, "problem") : null)];
}

function shot(frame, open) {
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
    const state = made < at ? "kept" : agent?.state === "said" ? "said" : ended(record) ? "lost" : agent?.state ?? "waits";
    const again = made === at && record.passes[at]?.from === name ? record.passes[at].reason : null;
    return [name, [agent, state, made, again], () => step(state, String(place + 1), title, tookOf(state, agent, made),
      again === null ? null : make("div", { className: "again" }, make("strong", {}, "Rerun from here. "), makeText(rewordForUsers(again, record.system.agents), "", "span")),
      ...(agent?.sources ?? []).map(drawSource),
      ...(agent?.refused ?? []).map(refused),
      agent?.state === "said" ? fields(agent.output, citing(record)) : null)];
  });
}

function tookOf(state, agent, made) {
  if (state === "asked") return since(agent.since);
  if (state === "kept") return note(`as in draft ${made + 1}`);
  if (state === "lost") return note(agent?.state === "asked" ? "not finished" : "not reached");
  return note(state === "said" ? formatSeconds(agent.seconds) : "");
}

/** Links evidence to the turn or frame that it cites. */
const citing = (record) => (kind, number) => {
  const frame = kind === "frame" ? record.frames?.find((candidate) => candidate.number === number) : null;
  const target = kind === "turn" ? record.places[number - 1] : frame;
  const label = `${kind} ${number}`;
  if (!target) return make("span", { className: "cite" }, label);
  const thumb = frame ? make("img", { src: frame.url, alt: "" }) : null;
  const open = () => (frame ? enlarge(record.frames, record.frames.indexOf(frame)) : document.getElementById(target)?.scrollIntoView({ block: "nearest" }));
  return make("button", { type: "button", className: "cite", onclick: open, "data-cites": frame ? `frame ${number}` : target }, thumb, label);
};

const refused = (complaint) => make("div", { className: "refused" }, make("strong", {}, "Asked again. "), makeText(complaint, "", "span"));

function drawSource({ symbol, items, problem }) {
  if (!items.length) return problem ? makeText(problem, "problem") : null;
  const summary = symbol === "M" ? plural(items.length, "example") : plural(items.length, "hint");
  return make("details", { className: "source" }, make("summary", {}, summary), make("ul", { className: "exemplars" }, items.map(exemplar)));
}

function exemplar(item) {
  if (!item.reply) return make("li", {}, fields(item, (kind, number) => make("span", { className: "cite" }, `${kind} ${number}`)));
  const last = item.history?.at(-1);
  return make("li", {}, last ? makeText(last.text, "after") : null, makeText(item.reply),
    Number.isFinite(item.similarity) ? make("span", { className: "likeness" }, item.similarity.toFixed(2)) : null);
}

/** The findings of an auditor, one for each agent, or the output of a critic. */
function auditStep(record) {
  const agent = findAuditor(record.system);
  if (!agent) return [];
  const pass = record.passes[viewedPass(record)];
  const [audit, critic, unfinished] = [pass?.audit, pass?.agents[agent.name], pass?.lost];
  const state = audit ? "said" : critic?.state === "said" ? "said" : ended(record) ? "lost" : critic?.state ?? "waits";
  const good = audit && audit.findings.length > 0 && audit.findings.every((finding) => finding.passed);
  return [["the audit", [audit, critic, state, unfinished], () => step(audit ? `said ${good ? "good" : "bad"}` : state, audit ? (good ? "✓" : "✗") : String(record.system.agents.length), agent.title, tookOf(state, audit ?? critic),
    ...(critic?.refused ?? []).map(refused),
    audit ? make("ul", { className: "findings" }, audit.findings.map((finding) => drawFinding(finding, audit, record.system.agents))) : null,
    critic?.output ? fields(critic.output, citing(record)) : null,
    audit?.problem ? makeText(audit.problem, "problem") : null,
    unfinished ? makeText(`This draft could not be finished: ${rewordForUsers(unfinished, record.system.agents)}`, "problem") : null)]];
}

function drawFinding({ check, passed, reason }, { blamed, instruction }, agents) {
  const title = agents.find((agent) => agent.name === check)?.title ?? check;
  const first = check === blamed;
  return make("li", {},
    make("span", { className: `mark ${passed ? "good" : "bad"}` }, make("span", { "aria-hidden": "true" }, passed ? "✓ " : "✗ "), printable(title), make("span", { className: "aside" }, passed ? " passed" : " failed")),
    first ? make("span", { className: "first" }, "first fault") : null, makeText(reason),
    first && instruction ? make("p", { className: "correction", dir: "auto" }, make("strong", {}, "Correction "), printable(instruction)) : null);
}

function endStep({ selected, cost, failed, state, system }) {
  if (failed) return [["end", failed, () => step("bad", "!", "There is no reply", note(""), ...makeError(failed))]];
  if (state === "stopped") return [["end", state, () => step("lost", "■", "Stopped", note(""))]];
  if (!selected && !cost) return [];
  const spent = cost ? `${plural(cost.calls, "call")}, ${plural(cost.prompt_tokens, "token")} read, ${plural(cost.response_tokens, "token")} written, ${formatSeconds(cost.seconds)}` : "";
  return [["end", [selected, cost], () => step("said good", "★", selected?.passes > 1 ? `Draft ${selected.pass + 1} was sent` : "The reply", note(""),
    selected?.why ? makeText(rewordForUsers(selected.why, system.agents)) : null, spent ? make("p", { className: "cost" }, spent) : null)]];
}
