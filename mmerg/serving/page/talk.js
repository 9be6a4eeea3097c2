/** A conversation: what was said, which replies are under way, and the names that the server knows it by. It is held in
    this page alone. */

import { fresh, take } from "./record.js";
import * as wire from "./wire.js";

const WORDLESS = "(showed something and said nothing)"; // a turn of the past must hold its place

export const latest = (side) => side.tries[side.at];
export const mine = (one) => `mine-${one.id}`;
export const theirs = (one, side) => `theirs-${one.id}-${one.sides[side] ? side : 0}`;

function uuid() { // crypto.randomUUID is for https and this machine alone
  const digits = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})/, "$1-$2-4$3-8$4-");
}

export class Talk {
  /** changed(): called whenever there is something else to see. An exchange is {id, words, media, sides}: what I said and
      showed, and for each system beside the other the tries of its reply, with the place of the one that counts. */
  constructor(changed) {
    Object.assign(this, { changed, exchanges: [], lookedAt: null, stopping: null, chats: [], ids: 0 });
  }

  get busy() {
    return this.stopping !== null;
  }

  /** Say something to each of the systems; with `instead`, in place of that exchange and all that follows it. */
  say(words, media, systems, instead, keep) {
    const gone = instead ? this.exchanges.splice(this.exchanges.indexOf(instead)) : [];
    const one = { id: (this.ids += 1), words, media, sides: [] };
    this.exchanges.push(one);
    this.#release(gone);
    return this.#run(one, systems.map((system, side) => ({ side, system, seed: null })), keep);
  }

  /** Ask for another reply to the last exchange: the same turns with another seed. */
  again(one, side, keep) {
    return this.#run(one, [{ side, system: latest(one.sides[side]).system, seed: Math.floor(Math.random() * 2 ** 31) }], keep);
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

  /** The replies that are shown, as run folders: one for each system that answered. */
  save() {
    const shown = this.exchanges.flatMap(({ sides }) => sides.map(latest));
    return wire.save(shown.filter(({ state, turn }) => turn && state !== "stopped").map(({ turn }) => turn));
  }

  /** Drop everything, on the server first: where that fails nothing is. */
  async forget() {
    for (const chat of this.chats) await wire.forget(chat);
    this.#release(this.exchanges.splice(0));
    Object.assign(this, { chats: [], lookedAt: null });
    this.changed();
  }

  /** Each reply is a request of its own, and fails alone. Returns the records of how they went. */
  async #run(one, asked, keep) {
    this.stopping = new AbortController();
    this.lookedAt = one;
    const begun = asked.map(({ side, system, seed }) => {
      const turns = [...this.#before(one, side), { who: "you", text: one.words, id: mine(one) }];
      const record = fresh(system, turns.map((turn) => turn.id));
      one.sides[side] ??= { tries: [], at: 0 };
      one.sides[side].at = one.sides[side].tries.push(record) - 1;
      this.chats[side] ??= uuid();
      return [record, { chat: this.chats[side], system: system.id, turns: turns.map(({ who, text }) => ({ who, text })), keep, seed }];
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
      else take(record, "failed", error instanceof wire.Wrong ? error : { what: `this page could not go on: ${error.message}` });
    }
  }

  /** The turns of one side's talk before an exchange, with the ids of the elements that show them. */
  #before(last, side) {
    return this.exchanges.slice(0, this.exchanges.indexOf(last)).flatMap((one) => {
      const { reply } = latest(one.sides[side] ?? one.sides[0]);
      const asked = { who: "you", text: one.words || WORDLESS, id: mine(one) };
      return reply === null ? [asked] : [asked, { who: "mmerg", text: reply, id: theirs(one, side) }];
    });
  }

  #release(gone) {
    const used = new Set(this.exchanges.flatMap((one) => one.media));
    for (const one of gone.flatMap(({ media }) => media)) if (!used.has(one)) URL.revokeObjectURL(one.url);
  }
}
