/** One reply: its frames, its passes with the agents' outputs, and its end. Browsers store records, so the names of
    their fields stay. */

/** Makes a record. system: from the setup. turnIds: the ids of the elements that show the turns, in order, for
    evidence. trace: the server's record, for saving. draft: the text so far. */
export const newRecord = (system, turnIds) => ({
  system, turnIds, state: "sent", ahead: 0, frames: null, problem: "", passes: [], runningAgent: "", viewedPass: null,
  draft: "", rawText: "", selected: null, reply: null, emotion: "", cost: null, error: null, trace: null,
  startedAt: performance.now(),
});

/** Makes an empty record, which shows the agents. */
export const idleRecord = (system) => ({ ...newRecord(system, []), state: "idle" });

/** Restores a record after a reload, which interrupts a running reply. */
export function restoreRecord(record) {
  if (isRunning(record)) Object.assign(record, { state: "stopped", interrupted: true });
  record.frames?.forEach(addUrl);
  return record;
}

/** Adds a blob URL to a frame. */
function addUrl(frame) {
  const bytes = Uint8Array.from(atob(frame.jpeg), (character) => character.charCodeAt(0));
  return Object.assign(frame, { url: URL.createObjectURL(new Blob([bytes], { type: "image/jpeg" })) });
}

/** Returns the response in the text so far: all of it, or a field of JSON that may be incomplete. */
function extractResponse(text) {
  if (!/^\s*\{/.test(text)) return text.replace(/<think>.*?(<\/think>|$)/gs, "").trim();
  const match = /"(?:\w+_)?(?:response|reply)"\s*:\s*"((?:[^"\\]|\\.)*)/s.exec(text);
  try {
    return match ? JSON.parse(`"${match[1].replace(/\\(u[\da-fA-F]{0,3})?$/, "")}"`) : "";
  } catch {
    return "";
  }
}

const getPass = (record, number) =>
  (record.passes[number] ??= { number, rerunFrom: "", rerunReason: "", agents: {}, audit: null, error: "" });

const getAgent = (record, { pass, agent }) =>
  (getPass(record, pass).agents[agent] ??= { state: "pending", rejections: [], sources: [] });

const HANDLERS = {
  queued: (record, { ahead }) => Object.assign(record, { ahead, state: ahead ? "queued" : "running" }),
  frames: (record, { frames, problem }) => Object.assign(record, { frames: frames.map(addUrl), problem }),
  text: (record, { text }) => { // "" starts a new text
    record.rawText = text && record.rawText + text;
    record.draft = extractResponse(record.rawText);
  },
  agent: (record, data) => {
    Object.assign(record, { state: "running", ahead: 0, runningAgent: data.agent });
    Object.assign(getAgent(record, data), { state: "running", startedAt: performance.now() });
  },
  source: (record, data) => getAgent(record, data).sources.push(data),
  rejected: (record, data) => getAgent(record, data).rejections.push(data.reason),
  output: (record, data) => {
    const { output, seconds, draft } = data;
    if (draft) record.draft = draft;
    Object.assign(getAgent(record, data), { state: "done", output, seconds });
  },
  pass_failed: (record, { pass, what }) => Object.assign(getPass(record, pass), { error: what }),
  audit: (record, data) => Object.assign(getPass(record, data.pass), { audit: data }),
  rerun: (record, { pass, from, reason }) =>
    Object.assign(getPass(record, pass), { rerunFrom: from, rerunReason: reason }),
  selected: (record, data) => Object.assign(record, { selected: data }),
  trace: (record, { trace }) => Object.assign(record, { trace }),
  reply: (record, { text, emotion }) => Object.assign(record, { reply: text, emotion, draft: "", rawText: "" }),
  done: (record, data) => Object.assign(record, { state: "done", cost: data }),
  failed: (record, data) => Object.assign(record, { state: "failed", error: data }),
};

/** Adds an event to the record. Ignores unknown events. */
export const applyEvent = (record, name, data) => void HANDLERS[name]?.(record, data);

export const isRunning = ({ state }) => ["sent", "queued", "running"].includes(state);

/** Returns the pass of the reply: the selected one, else the newest. */
export const getFinalPass = ({ selected, passes }) => selected?.pass ?? Math.max(0, passes.length - 1);

/** Returns the pass to show: the one that the user chose, else that of the reply. */
export const getViewedPass = (record) => record.viewedPass ?? getFinalPass(record);

/** Returns the short name of a system. */
export const shortTitle = ({ title }) => title.split(":")[0];

/** Returns the agent that audits the others, if any: the last one. */
export const findAuditor = ({ agents, audits }) => (audits ? agents.at(-1) : null);

/** Returns the agents before the auditor, in order. */
export const listStages = ({ system }) => system.agents.filter((agent) => agent !== findAuditor(system));

/** Returns the pass that made the output of the agent at `index` in a pass: agents before the rerun keep theirs. */
export function findOrigin(record, pass, index, agents) {
  const isKept = ({ rerunFrom }) => rerunFrom && index < agents.findIndex(({ name }) => name === rerunFrom);
  let origin = pass;
  while (origin > 0 && isKept(record.passes[origin] ?? {})) origin -= 1;
  return origin;
}

/** Returns the agents' outputs in a pass, by name. */
export function listOutputs(record, pass) {
  const outputs = listStages(record).map(({ name }, index, agents) =>
    [name, record.passes[findOrigin(record, pass, index, agents)]?.agents[name]?.output]);
  return Object.fromEntries(outputs.filter(([, output]) => output !== undefined));
}

/** Counts the findings that passed: "3 of 4 checks". */
export const countPassed = (findings) =>
  `${findings.filter(({ passed }) => passed).length} of ${findings.length} checks`;

/** Summarizes a reply: "sadness · comfort, gentle · 4 of 4 checks"; "" if nothing is known. */
export function summarize(record) {
  const pass = getFinalPass(record);
  const plan = Object.values(listOutputs(record, pass)).find((output) => output?.goal || output?.chosen_strategy);
  const audit = record.passes[pass]?.audit;
  let checks = "";
  if (audit) checks = audit.findings.length ? countPassed(audit.findings) : "check not readable";
  return [
    record.emotion,
    [plan?.goal, plan?.chosen_strategy, plan?.tone].filter(Boolean).join(", "),
    checks,
    pass && `draft ${pass + 1}`,
  ].filter(Boolean).join(" · ");
}

/** Rewords a text of the engine for users: passes are drafts, and agents have titles. */
export function rewordForUsers(text, agents) {
  let reworded = text.replace(/\b(P|p)ass (\d+)\b/g, (_, letter, number) =>
    `${letter === "P" ? "Draft" : "draft"} ${Number(number) + 1}`);
  for (const { name, title } of agents) {
    reworded = reworded.replace(new RegExp(`\\b${name}\\b`, "g"), title.toLowerCase());
  }
  return reworded.replaceAll("_", " ");
}
