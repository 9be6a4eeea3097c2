/** A chat: its turns, and the running replies. It is stored in this browser; the server keeps nothing. */

import { makeAttachment, releaseUrls } from "./attached.js";
import { uuid } from "./dom.js";
import { applyEvent, listOutputs, newRecord, restoreRecord, viewedPass } from "./record.js";
import * as store from "./store.js";
import * as wire from "./wire.js";

const WORDLESS = "(showed something and said nothing)"; // stands for an earlier turn without words
const TITLE = 60; // characters

/** The selected try of a reply. */
export const selectedTry = (side) => side.tries[side.at];
/** The ids of the elements that show the turns of an exchange. */
export const userTurnId = (exchange) => `mine-${exchange.id}`;
export const replyId = (exchange, side) => `theirs-${exchange.id}-${exchange.sides[side] ? side : 0}`;

export class Talk {
  /** changed(): called after each change. An exchange is {id, words, media, sides}: the user's turn, and for each system
      the tries of its reply and the index of the selected one. rev: how often the chat was stored. */
  constructor(changed, id = uuid()) {
    Object.assign(this, { changed, id, rev: 0, exchanges: [], lookedAt: null, stopping: null, chats: [], ids: 0, at: Date.now(), draft: { words: "", media: [] } });
  }

  /** Reads the stored chat with this id; null if there is none. */
  static async read(id, changed) {
    const kept = await store.load(id);
    if (!kept) return null;
    const [{ rev, ids, chats, at, draft, exchanges: plain }, files] = kept;
    const restore = (media) => media.filter(({ id }) => files.has(id)).map(({ id, kind }) => makeAttachment(files.get(id).file, kind, files.get(id).still, id));
    const exchanges = plain.map((exchange) => ({ ...exchange, media: restore(exchange.media), sides: exchange.sides.map((side) => ({ ...side, tries: side.tries.map(restoreRecord) })) }));
    return Object.assign(new Talk(changed, id), { rev, ids, chats, at, exchanges, draft: { words: draft.words, media: restore(draft.media) }, lookedAt: exchanges.at(-1) ?? null });
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
  async store() {
    const plain = ({ id, kind }) => ({ id, kind });
    const media = [...this.exchanges.flatMap(({ media }) => media), ...this.draft.media];
    const tidy = ({ begun, frames, ...record }) => ({ ...record, frames: frames?.map(({ url, ...frame }) => frame) ?? null });
    const whole = () => ({
      id: this.id, rev: this.rev, title: this.title, at: this.at, ids: this.ids, chats: this.chats,
      files: media.map(({ id }) => id),
      draft: { words: this.draft.words, media: this.draft.media.map(plain) },
      exchanges: this.exchanges.map((exchange) => ({ ...exchange, media: exchange.media.map(plain), sides: exchange.sides.map((side) => ({ ...side, tries: side.tries.map(tidy) })) })),
    });
    const files = media.filter(({ kept }) => !kept);
    let another = false;
    while (!await store.save(whole(), files.map(({ id, file, still }) => ({ id, file, still })))) {
      another = true;
      Object.assign(this, { id: uuid(), rev: 0 });
      for (const file of media) if (file.kept) { Object.assign(file, { id: uuid() }); files.push(file); }
    }
    for (const file of media) file.kept = true;
    this.rev += 1;
    store.windows.postMessage({ id: this.id, rev: this.rev, busy: this.busy });
    return another;
  }

  /** Sends a message to each system. instead: an exchange that it replaces, with all after it. */
  say(words, media, systems, instead) {
    const removed = instead ? this.exchanges.splice(this.exchanges.indexOf(instead)) : [];
    this.ids += 1;
    const exchange = { id: this.ids, words, media, sides: [] };
    this.exchanges.push(exchange);
    this.at = Date.now();
    this.#release(removed);
    return this.#run(exchange, systems.map((system, side) => ({ side, system, seed: null })));
  }

  /** Requests another reply to the same turns, with another seed. */
  tryAgain(exchange, side) {
    return this.#run(exchange, [{ side, system: selectedTry(exchange.sides[side]).system, seed: Math.floor(Math.random() * 2 ** 31) }]);
  }

  stop() {
    this.stopping?.abort();
  }

  look(exchange) {
    this.lookedAt = exchange;
    this.changed();
  }

  flip(exchange, side, at) {
    exchange.sides[side].at = at;
    this.changed();
  }

  /** Saves the selected replies as run folders, one for each system. keep: with their frames. */
  saveAsRuns(keep) {
    const records = this.exchanges.flatMap(({ sides }) => sides.map(selectedTry)).filter(({ trace }) => trace);
    return wire.saveReplies(records.map(({ trace, frames }) => ({ trace, frames: keep ? frames?.map(({ jpeg }) => jpeg) ?? [] : [] })));
  }

  /** The chat for a download: the words of each turn, and the details of each reply. */
  get plain() {
    return {
      format: "mmerg chat 1", title: this.title, at: new Date(this.at).toISOString(),
      turns: this.exchanges.flatMap(({ words, media, sides }) => [
        { who: "you", text: words, files: media.map(({ name }) => name) },
        ...sides.map(selectedTry).filter(({ reply }) => reply !== null).map((record) => ({
          who: "mmerg", system: record.system.id, text: record.reply, emotion: record.emotion, outputs: listOutputs(record, viewedPass({ ...record, view: null })),
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
  async #run(exchange, requests) {
    this.stopping = new AbortController();
    this.lookedAt = exchange;
    const started = requests.map(({ side, system, seed }) => {
      const turns = [...this.#turnsBefore(exchange, side), { who: "you", text: exchange.words, id: userTurnId(exchange) }];
      const record = newRecord(system, turns.map((turn) => turn.id));
      exchange.sides[side] ??= { tries: [], at: 0 };
      exchange.sides[side].at = exchange.sides[side].tries.push(record) - 1;
      this.chats[side] ??= `chat-${uuid().slice(0, 8)}`;
      return [record, { chat: this.chats[side], system: system.id, turns: turns.map(({ who, text }) => ({ who, text })), seed }];
    });
    this.changed();
    await Promise.all(started.map(([record, talk]) => this.#follow(record, talk, exchange.media, this.stopping.signal)));
    this.stopping = null;
    this.changed();
    return started.map(([record]) => record);
  }

  async #follow(record, talk, media, signal) {
    try {
      for await (const [name, data] of wire.streamTurn(talk, media.map(({ kind, file }) => [kind, file]), signal)) {
        applyEvent(record, name, data);
        this.changed();
      }
    } catch (error) {
      if (signal.aborted) record.state = "stopped";
      else applyEvent(record, "failed", error instanceof wire.PageError ? { ...error } : { what: `this page failed: ${error.message}` });
    }
  }

  /** The turns of one side before an exchange, with the ids of their elements. */
  #turnsBefore(last, side) {
    return this.exchanges.slice(0, this.exchanges.indexOf(last)).flatMap((exchange) => {
      const { reply } = selectedTry(exchange.sides[side] ?? exchange.sides[0]);
      const turn = { who: "you", text: exchange.words || WORDLESS, id: userTurnId(exchange) };
      return reply === null ? [turn] : [turn, { who: "mmerg", text: reply, id: replyId(exchange, side) }];
    });
  }

  #release(removed) {
    const used = new Set(this.exchanges.flatMap(({ media }) => media));
    for (const file of removed.flatMap(({ media }) => media)) if (!used.has(file)) releaseUrls(file);
  }
}
