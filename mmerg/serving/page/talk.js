/** A chat: its turns, and the running replies. It is stored in this browser; the server keeps nothing. */

import { medium, release } from "./attached.js";
import { uuid } from "./dom.js";
import { fresh, outputs, revived, take, viewed } from "./record.js";
import * as store from "./store.js";
import * as wire from "./wire.js";

const WORDLESS = "(showed something and said nothing)"; // stands for an earlier turn without words
const TITLE = 60; // characters

export const latest = (side) => side.tries[side.at];
export const mine = (one) => `mine-${one.id}`;
export const theirs = (one, side) => `theirs-${one.id}-${one.sides[side] ? side : 0}`;

export class Talk {
  /** changed(): called after each change. An exchange is {id, words, media, sides}: the user's turn, and for each system
      the tries of its reply and the index of the selected one. rev: how often the chat was stored. */
  constructor(changed, id = uuid()) {
    Object.assign(this, { changed, id, rev: 0, exchanges: [], lookedAt: null, stopping: null, chats: [], ids: 0, at: Date.now(), draft: { words: "", media: [] } });
  }

  /** The stored chat with this id; null if there is none. */
  static async read(id, changed) {
    const kept = await store.load(id);
    if (!kept) return null;
    const [{ rev, ids, chats, at, draft, exchanges: plain }, files] = kept;
    const shown = (media) => media.filter((one) => files.has(one.id)).map((one) => medium(files.get(one.id).file, one.kind, files.get(one.id).still, one.id));
    const exchanges = plain.map((one) => ({ ...one, media: shown(one.media), sides: one.sides.map((side) => ({ ...side, tries: side.tries.map(revived) })) }));
    return Object.assign(new Talk(changed, id), { rev, ids, chats, at, exchanges, draft: { words: draft.words, media: shown(draft.media) }, lookedAt: exchanges.at(-1) ?? null });
  }

  get busy() {
    return this.stopping !== null;
  }

  get title() {
    const [first] = this.exchanges;
    const words = first && (first.words.split("\n")[0] || first.media[0]?.name || "A chat");
    return words ? (Array.from(words).length > TITLE ? `${Array.from(words).slice(0, TITLE - 1).join("")}…` : words) : "";
  }

  /** Stores the chat. If another window has changed it, stores it as a new chat and returns true. */
  async keep() {
    const plain = ({ id, kind }) => ({ id, kind });
    const media = [...this.exchanges.flatMap((one) => one.media), ...this.draft.media];
    const tidy = ({ begun, frames, ...record }) => ({ ...record, frames: frames?.map(({ url, ...frame }) => frame) ?? null });
    const whole = () => ({
      id: this.id, rev: this.rev, title: this.title, at: this.at, ids: this.ids, chats: this.chats,
      files: media.map(({ id }) => id),
      draft: { words: this.draft.words, media: this.draft.media.map(plain) },
      exchanges: this.exchanges.map((one) => ({ ...one, media: one.media.map(plain), sides: one.sides.map((side) => ({ ...side, tries: side.tries.map(tidy) })) })),
    });
    const files = media.filter(({ kept }) => !kept);
    let another = false;
    while (!await store.keep(whole(), files.map(({ id, file, still }) => ({ id, file, still })))) {
      another = true;
      Object.assign(this, { id: uuid(), rev: 0 });
      for (const one of media) if (one.kept) { Object.assign(one, { id: uuid() }); files.push(one); }
    }
    for (const one of media) one.kept = true;
    this.rev += 1;
    store.windows.postMessage({ id: this.id, rev: this.rev, busy: this.busy });
    return another;
  }

  /** Sends a message to each system. instead: an exchange that it replaces, with all after it. */
  say(words, media, systems, instead) {
    const gone = instead ? this.exchanges.splice(this.exchanges.indexOf(instead)) : [];
    const one = { id: (this.ids += 1), words, media, sides: [] };
    this.exchanges.push(one);
    this.at = Date.now();
    this.#release(gone);
    return this.#run(one, systems.map((system, side) => ({ side, system, seed: null })));
  }

  /** Asks for another reply to the same turns, with another seed. */
  again(one, side) {
    return this.#run(one, [{ side, system: latest(one.sides[side]).system, seed: Math.floor(Math.random() * 2 ** 31) }]);
  }

  stop() {
    this.stopping?.abort();
  }

  look(one) {
    this.lookedAt = one;
    this.changed();
  }

  flip(one, side, at) {
    one.sides[side].at = at;
    this.changed();
  }

  /** Saves the selected replies as run folders, one for each system. keep: with their frames. */
  save(keep) {
    const shown = this.exchanges.flatMap(({ sides }) => sides.map(latest)).filter(({ trace }) => trace);
    return wire.save(shown.map(({ trace, frames }) => ({ trace, frames: keep ? frames?.map(({ jpeg }) => jpeg) ?? [] : [] })));
  }

  /** The chat for a download: the words of each turn, and the details of each reply. */
  get plain() {
    return {
      format: "mmerg chat 1", title: this.title, at: new Date(this.at).toISOString(),
      turns: this.exchanges.flatMap((one) => [
        { who: "you", text: one.words, files: one.media.map(({ name }) => name) },
        ...one.sides.map(latest).filter(({ reply }) => reply !== null).map((record) => ({
          who: "mmerg", system: record.system.id, text: record.reply, emotion: record.emotion, outputs: outputs(record, viewed({ ...record, view: null })),
          audits: record.passes.map(({ audit }) => audit?.findings ?? null), trace: record.trace && JSON.parse(record.trace),
        })),
      ]),
    };
  }

  get markdown() {
    return [`# ${this.title}`, ...this.plain.turns.map(({ who, text, files, emotion }) =>
      `**${who === "you" ? "You" : "mmerg"}**${emotion ? ` (${emotion})` : ""}\n\n${[text, ...(files ?? []).map((name) => `[${name}]`)].filter(Boolean).join("\n\n")}`)].join("\n\n") + "\n";
  }

  /** Sends one request for each reply, so that each fails alone. Returns their records. */
  async #run(one, asked) {
    this.stopping = new AbortController();
    this.lookedAt = one;
    const begun = asked.map(({ side, system, seed }) => {
      const turns = [...this.#before(one, side), { who: "you", text: one.words, id: mine(one) }];
      const record = fresh(system, turns.map((turn) => turn.id));
      one.sides[side] ??= { tries: [], at: 0 };
      one.sides[side].at = one.sides[side].tries.push(record) - 1;
      this.chats[side] ??= `chat-${uuid().slice(0, 8)}`;
      return [record, { chat: this.chats[side], system: system.id, turns: turns.map(({ who, text }) => ({ who, text })), seed }];
    });
    this.changed();
    await Promise.all(begun.map(([record, talk]) => this.#follow(record, talk, one.media, this.stopping.signal)));
    this.stopping = null;
    this.changed();
    return begun.map(([record]) => record);
  }

  async #follow(record, talk, media, signal) {
    try {
      for await (const [name, data] of wire.turn(talk, media.map(({ kind, file }) => [kind, file]), signal)) {
        take(record, name, data);
        this.changed();
      }
    } catch (error) {
      if (signal.aborted) record.state = "stopped";
      else take(record, "failed", error instanceof wire.Wrong ? { ...error } : { what: `this page failed: ${error.message}` });
    }
  }

  /** The turns of one side before an exchange, with the ids of their elements. */
  #before(last, side) {
    return this.exchanges.slice(0, this.exchanges.indexOf(last)).flatMap((one) => {
      const { reply } = latest(one.sides[side] ?? one.sides[0]);
      const asked = { who: "you", text: one.words || WORDLESS, id: mine(one) };
      return reply === null ? [asked] : [asked, { who: "mmerg", text: reply, id: theirs(one, side) }];
    });
  }

  #release(gone) {
    const used = new Set(this.exchanges.flatMap((one) => one.media));
    for (const one of gone.flatMap(({ media }) => media)) if (!used.has(one)) release(one);
  }
}
