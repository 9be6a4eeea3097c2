/** One reply: its frames, its passes with the agents' outputs, and its end. Browsers store records, so the names of their
    fields stay. */

/** Makes a record. system: from the setup. places: the ids of the elements that show the turns, in order, for evidence.
    trace: the server's record, for saving. draft: the text so far. */
export const newRecord = (system, places) => ({
  system, places, state: "sent", ahead: 0, frames: null, problem: "", passes: [], now: "", view: null, draft: "", raw: "",
  chosen: null, reply: null, emotion: "", cost: null, failed: null, trace: null, begun: performance.now(),
});

/** Restores a record after a reload, which loses a running reply. */
export function restoreRecord(record) {
  if (isRunning(record)) Object.assign(record, { state: "stopped", lost: true });
  record.frames?.forEach(addUrl);
  return record;
}

/** Adds a blob URL to a frame. */
const addUrl = (frame) => Object.assign(frame, { url: URL.createObjectURL(new Blob([Uint8Array.from(atob(frame.jpeg), (character) => character.charCodeAt(0))], { type: "image/jpeg" })) });

/** Returns the response in the text so far: all of it, or a field of JSON that may be incomplete. */
function extractResponse(raw) {
  if (!/^\s*\{/.test(raw)) return raw.replace(/<think>.*?(<\/think>|$)/gs, "").trim();
  const match = /"(?:\w+_)?(?:response|reply)"\s*:\s*"((?:[^"\\]|\\.)*)/s.exec(raw);
  try {
    return match ? JSON.parse(`"${match[1].replace(/\\(u[\da-fA-F]{0,3})?$/, "")}"`) : "";
  } catch {
    return "";
  }
}

/** Makes an empty record, which shows the agents. */
export const idleRecord = (system) => ({ ...newRecord(system, []), state: "idle" });

const getPass = (record, number) =>
  (record.passes[number] ??= { number, from: "", reason: "", agents: {}, audit: null, lost: "" });

const getAgent = (record, { pass, agent }) =>
  (getPass(record, pass).agents[agent] ??= { state: "waits", refused: [], supplied: [] });

const HANDLERS = {
  queued: (record, { ahead }) => Object.assign(record, { ahead, state: ahead ? "queued" : "going" }),
  frames: (record, { frames, problem }) => Object.assign(record, { frames: frames.map(addUrl), problem }),
  text: (record, { text }) => {
    record.raw = text && record.raw + text;
    record.draft = extractResponse(record.raw);
  },
  agent: (record, data) => {
    Object.assign(record, { state: "going", ahead: 0, now: data.agent });
    Object.assign(getAgent(record, data), { state: "asked", since: performance.now() });
  },
  source: (record, data) => getAgent(record, data).supplied.push(data),
  refused: (record, data) => getAgent(record, data).refused.push(data.complaint),
  output: (record, data) => {
    const { output, seconds, draft } = data;
    if (draft) record.draft = draft;
    Object.assign(getAgent(record, data), { state: "said", output, seconds });
  },
  lost: (record, data) => Object.assign(getPass(record, data.pass), { lost: data.what }),
  audit: (record, data) => Object.assign(getPass(record, data.pass), { audit: data }),
  rerun: (record, data) => Object.assign(getPass(record, data.pass), { from: data.from, reason: data.reason }),
  selected: (record, data) => Object.assign(record, { chosen: data }),
  trace: (record, { trace }) => Object.assign(record, { trace }),
  reply: (record, { text, emotion }) => Object.assign(record, { reply: text, emotion, draft: "", raw: "" }),
  done: (record, data) => Object.assign(record, { state: "done", cost: data }),
  failed: (record, data) => Object.assign(record, { state: "failed", failed: data }),
};

/** Adds an event to the record. Ignores unknown events. */
export const applyEvent = (record, name, data) => void HANDLERS[name]?.(record, data);

export const isRunning = (record) => ["sent", "queued", "going"].includes(record.state);

/** Returns the pass to show: the requested one, else the selected one, else the newest. */
export const viewedPass = (record) => record.view ?? record.chosen?.pass ?? Math.max(0, record.passes.length - 1);

/** The short name of a system. */
export const shortTitle = ({ title }) => title.split(":")[0];

/** The agent that audits the others, if any: the last one. */
export const findAuditor = ({ agents, audits }) => (audits ? agents.at(-1) : null);

/** The agents before the auditor, in order. */
export const listStages = ({ system }) => system.agents.filter((agent) => agent !== findAuditor(system));

/** The pass that made the output of the agent at `place` in a pass: agents before the rerun keep theirs. */
export function findOrigin(record, number, place, agents) {
  let at = number;
  while (at > 0 && record.passes[at]?.from && place < agents.findIndex((agent) => agent.name === record.passes[at].from)) at -= 1;
  return at;
}

/** The agents' outputs in a pass, by name. */
export const listOutputs = (record, number) => Object.fromEntries(listStages(record).map(({ name }, place, agents) =>
  [name, record.passes[findOrigin(record, number, place, agents)]?.agents[name]?.output]).filter(([, output]) => output !== undefined));

/** Summarizes a reply: "sadness · comfort, gentle · 4 of 4 checks"; "" if nothing is known. */
export function summarize(record) {
  const at = viewedPass({ ...record, view: null });
  const plan = Object.values(listOutputs(record, at)).find((output) => output?.goal || output?.chosen_strategy);
  const passed = record.passes[at]?.audit?.findings.map((finding) => finding.passed) ?? [];
  return [
    record.emotion,
    plan ? [plan.goal, plan.chosen_strategy, plan.tone].filter(Boolean).join(", ") : "",
    passed.length ? `${passed.filter(Boolean).length} of ${passed.length} checks` : record.passes[at]?.audit ? "check not readable" : "",
    at ? `draft ${at + 1}` : "",
  ].filter(Boolean).join(" · ");
}

/** Rewords a text of the engine for users: passes are drafts, and agents have titles. */
export const rewordForUsers = (words, agents) => agents.reduce((text, { name, title }) => text.replace(new RegExp(`\\b${name}\\b`, "g"), title.toLowerCase()),
  words.replace(/\b(pass|Pass) (\d+)\b/g, (_, word, number) => `${word === "Pass" ? "Draft" : "draft"} ${Number(number) + 1}`)).replaceAll("_", " ");
