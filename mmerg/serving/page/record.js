/** What is known of one reply while it comes: its frames, its passes with what each agent said, how it ended. */

/** system: of the setup. places: the ids of the elements that show the talk's turns, in order: what evidence cites. trace:
    the server's own record of it, for saving. draft: what is written so far. */
export const fresh = (system, places) => ({
  system, places, state: "sent", place: 0, frames: null, problem: "", passes: [], now: "", view: null, draft: "", raw: "",
  chosen: null, reply: null, emotion: "", cost: null, failed: null, trace: null, begun: performance.now(),
});

/** As it is after a reload: a reply under way was lost with the page. */
export function revived(record) {
  if (going(record)) Object.assign(record, { state: "stopped", lost: true });
  record.frames?.forEach(show);
  return record;
}

/** A frame's address, of the page's own. */
const show = (frame) => Object.assign(frame, { url: URL.createObjectURL(new Blob([Uint8Array.from(atob(frame.jpeg), (one) => one.charCodeAt(0))], { type: "image/jpeg" })) });

/** The response in what is written so far: the text itself, or a field of JSON that may not be whole yet. */
function written(raw) {
  if (!/^\s*\{/.test(raw)) return raw.replace(/<think>.*?(<\/think>|$)/gs, "").trim();
  const found = /"(?:\w+_)?(?:response|reply)"\s*:\s*"((?:[^"\\]|\\.)*)/s.exec(raw);
  try {
    return found ? JSON.parse(`"${found[1].replace(/\\(u[\da-fA-F]{0,3})?$/, "")}"`) : "";
  } catch {
    return "";
  }
}

/** Before anything is said: who will do what. */
export const idle = (system) => ({ ...fresh(system, []), state: "idle" });

const passOf = (record, number) =>
  (record.passes[number] ??= { number, from: "", reason: "", agents: {}, audit: null, lost: "" });

const agentOf = (record, { pass, agent }) =>
  (passOf(record, pass).agents[agent] ??= { state: "waits", refused: [], supplied: [] });

const TAKE = {
  accepted: (record, { place }) => Object.assign(record, { place, state: place ? "queued" : "going" }),
  frames: (record, { frames, problem }) => Object.assign(record, { frames: frames.map(show), problem }),
  words: (record, { text }) => {
    record.raw = text && record.raw + text;
    record.draft = written(record.raw);
  },
  asked: (record, data) => {
    Object.assign(record, { state: "going", place: 0, now: data.agent });
    Object.assign(agentOf(record, data), { state: "asked", since: performance.now() });
  },
  supplied: (record, data) => agentOf(record, data).supplied.push(data),
  refused: (record, data) => agentOf(record, data).refused.push(data.complaint),
  said: (record, data) => {
    const { output, seconds, draft } = data;
    if (draft) record.draft = draft;
    Object.assign(agentOf(record, data), { state: "said", output, seconds });
  },
  lost: (record, data) => Object.assign(passOf(record, data.pass), { lost: data.what }),
  audit: (record, data) => Object.assign(passOf(record, data.pass), { audit: data }),
  rerun: (record, data) => Object.assign(passOf(record, data.pass), { from: data.from, reason: data.reason }),
  chosen: (record, data) => Object.assign(record, { chosen: data }),
  trace: (record, { trace }) => Object.assign(record, { trace }),
  reply: (record, { text, emotion }) => Object.assign(record, { reply: text, emotion, draft: "", raw: "" }),
  done: (record, data) => Object.assign(record, { state: "done", cost: data }),
  failed: (record, data) => Object.assign(record, { state: "failed", failed: data }),
};

/** An event becomes part of the record; one that this page does not know is none. */
export const take = (record, name, data) => void TAKE[name]?.(record, data);

export const going = (record) => ["sent", "queued", "going"].includes(record.state);

/** The pass that is looked at: the one asked for, else the chosen, else the newest. */
export const viewed = (record) => record.view ?? record.chosen?.pass ?? Math.max(0, record.passes.length - 1);

/** What a system is called where there is little room. */
export const short = ({ title }) => title.split(":")[0];

/** The one that audits the others, if any; the system names it last. */
export const auditor = ({ agents, audits }) => (audits ? agents.at(-1) : null);

/** The agents whose outputs the reply is made of, in order. */
export const speakers = ({ system }) => system.agents.filter((agent) => agent !== auditor(system));

/** In which pass the output came to be that a pass has of the agent at a place: those before its start are kept. */
export function origin(record, number, place, agents) {
  let at = number;
  while (at > 0 && record.passes[at]?.from && place < agents.findIndex((agent) => agent.name === record.passes[at].from)) at -= 1;
  return at;
}

/** What each agent gave in a pass, by its name. */
export const outputs = (record, number) => Object.fromEntries(speakers(record).map(({ name }, place, agents) =>
  [name, record.passes[origin(record, number, place, agents)]?.agents[name]?.output]).filter(([, output]) => output !== undefined));

/** A reply in a few words: "sadness · comfort, gentle · 4 of 4 checks"; "" where nothing is known. */
export function summary(record) {
  const at = viewed({ ...record, view: null });
  const plan = Object.values(outputs(record, at)).find((output) => output?.goal || output?.chosen_strategy);
  const passed = record.passes[at]?.audit?.findings.map((finding) => finding.passed) ?? [];
  return [
    record.emotion,
    plan ? [plan.goal, plan.chosen_strategy, plan.tone].filter(Boolean).join(", ") : "",
    passed.length ? `${passed.filter(Boolean).length} of ${passed.length} checks` : record.passes[at]?.audit ? "check not readable" : "",
    at ? `draft ${at + 1}` : "",
  ].filter(Boolean).join(" · ");
}

/** Words of the engine for people: passes are drafts, and agents have titles. */
export const plainly = (words, agents) => agents.reduce((some, { name, title }) => some.replace(new RegExp(`\\b${name}\\b`, "g"), title.toLowerCase()),
  words.replace(/\b(pass|Pass) (\d+)\b/g, (_, word, number) => `${word === "Pass" ? "Draft" : "draft"} ${Number(number) + 1}`)).replaceAll("_", " ");
