/** What is known of one reply while it comes: its frames, its passes with what each agent said, how it ended. */

/** turn: its id, for the server. system: of the setup. places: the ids of the elements that show the talk's turns, in order: what evidence cites. */
export const fresh = (system, places) => ({
  system, places, state: "sent", turn: "", place: 0, frames: null, problem: "", passes: [], now: "", view: null,
  chosen: null, reply: null, emotion: "", cost: null, failed: null,
});

/** Before anything is said: who will do what. */
export const idle = (system) => ({ ...fresh(system, []), state: "idle" });

const passOf = (record, number) =>
  (record.passes[number] ??= { number, from: "", reason: "", agents: {}, audit: null, lost: "" });

const agentOf = (record, { pass, agent }) =>
  (passOf(record, pass).agents[agent] ??= { state: "waits", refused: [], supplied: [] });

const TAKE = {
  accepted: (record, { turn, place }) => Object.assign(record, { turn, place, state: place ? "queued" : "going" }),
  frames: (record, { frames, problem }) => Object.assign(record, { frames, problem }),
  asked: (record, data) => {
    Object.assign(record, { state: "going", place: 0, now: data.agent });
    Object.assign(agentOf(record, data), { state: "asked", since: performance.now() });
  },
  supplied: (record, data) => agentOf(record, data).supplied.push(data),
  refused: (record, data) => agentOf(record, data).refused.push(data.complaint),
  said: (record, data) => {
    const { output, seconds } = data;
    Object.assign(agentOf(record, data), { state: "said", output, seconds });
  },
  lost: (record, data) => Object.assign(passOf(record, data.pass), { lost: data.what }),
  audit: (record, data) => Object.assign(passOf(record, data.pass), { audit: data }),
  rerun: (record, data) => Object.assign(passOf(record, data.pass), { from: data.from, reason: data.reason }),
  chosen: (record, data) => Object.assign(record, { chosen: data }),
  reply: (record, { text, emotion }) => Object.assign(record, { reply: text, emotion }),
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
