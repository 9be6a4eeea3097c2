/** A chat: its turns, and the running replies. It is stored in this browser; the server keeps nothing. */

import { PageError, saveReplies, streamTurn } from "./api.js";
import { makeAttachment, releaseUrls } from "./attachments.js";
import { uuid } from "./dom.js";
import { applyEvent, getFinalPass, listOutputs, newRecord, restoreRecord } from "./record.js";
import * as store from "./store.js";

const NO_TEXT = "(showed something and said nothing)"; // stands for an earlier turn without text
const TITLE_LENGTH = 60; // characters

/** Returns the selected try of a reply. */
export const getSelectedTry = ({ tries, selected }) => tries[selected];
/** Return the ids of the elements that show the turns of an exchange. */
export const userTurnId = (exchange) => `user-${exchange.id}`;
export const replyId = (exchange, column) => `assistant-${exchange.id}-${exchange.replies[column] ? column : 0}`;

export class Chat {
  /** changed(): called after each change.

      An exchange is {id, text, media, replies}: the user's turn, and for each system {tries, selected}: the tries of
      its reply and the index of the selected one. The index of a system is its column. revision: how often the chat
      was stored. serverIds: the id of the chat in requests, for each column. */
  constructor(changed, id = uuid()) {
    Object.assign(this, { changed, id, revision: 0, updatedAt: Date.now(), lastExchangeId: 0, serverIds: [] });
    Object.assign(this, { exchanges: [], draft: { text: "", media: [] }, inspected: null, abortController: null });
  }

  /** Reads the stored chat with this id; null if there is none. */
  static async read(id, changed) {
    const stored = await store.load(id);
    if (!stored) return null;
    const [{ revision, updatedAt, lastExchangeId, serverIds, draft, exchanges: plainExchanges }, files] = stored;
    const restoreMedia = (media) => media.filter(({ id }) => files.has(id)).map(({ id, kind }) => {
      const { file, still } = files.get(id);
      return makeAttachment(file, kind, still, id);
    });
    const restoreReply = (reply) => ({ ...reply, tries: reply.tries.map(restoreRecord) });
    const exchanges = plainExchanges.map((exchange) =>
      ({ ...exchange, media: restoreMedia(exchange.media), replies: exchange.replies.map(restoreReply) }));
    return Object.assign(new Chat(changed, id), {
      revision, updatedAt, lastExchangeId, serverIds, exchanges, inspected: exchanges.at(-1) ?? null,
      draft: { text: draft.text, media: restoreMedia(draft.media) },
    });
  }

  get isBusy() {
    return this.abortController !== null;
  }

  get isEmpty() {
    return !this.exchanges.length && !this.draft.text && !this.draft.media.length;
  }

  get title() {
    const [first] = this.exchanges;
    if (!first) return "";
    const characters = Array.from(first.text.split("\n")[0] || first.media[0]?.name || "A chat");
    if (characters.length <= TITLE_LENGTH) return characters.join("");
    return `${characters.slice(0, TITLE_LENGTH - 1).join("")}…`;
  }

  /** Stores the chat. If another window has changed it, stores it as a new chat and returns true. */
  async store() {
    const media = [...this.exchanges, this.draft].flatMap((message) => message.media);
    const newFiles = media.filter((file) => !file.stored);
    let isNewChat = false;
    while (!await store.save(this.#toStored(media), newFiles.map(({ id, file, still }) => ({ id, file, still })))) {
      isNewChat = true;
      Object.assign(this, { id: uuid(), revision: 0 });
      for (const file of media.filter(({ stored }) => stored)) {
        file.id = uuid();
        newFiles.push(file);
      }
    }
    for (const file of media) file.stored = true;
    this.revision += 1;
    store.windows.postMessage({ id: this.id, revision: this.revision, isBusy: this.isBusy });
    return isNewChat;
  }

  /** Returns what is stored: no files, which are stored apart, and nothing that is void after a reload. */
  #toStored(media) {
    const { id, revision, title, updatedAt, lastExchangeId, serverIds, draft } = this;
    const toPlainMedia = (attachments) => attachments.map(({ id, kind }) => ({ id, kind }));
    const toPlainRecord = ({ startedAt, frames, ...record }) =>
      ({ ...record, frames: frames?.map(({ url, ...frame }) => frame) ?? null });
    const toPlainReply = (reply) => ({ ...reply, tries: reply.tries.map(toPlainRecord) });
    const exchanges = this.exchanges.map((exchange) =>
      ({ ...exchange, media: toPlainMedia(exchange.media), replies: exchange.replies.map(toPlainReply) }));
    return {
      id, revision, title, updatedAt, lastExchangeId, serverIds, exchanges, files: media.map((file) => file.id),
      draft: { text: draft.text, media: toPlainMedia(draft.media) },
    };
  }

  /** Sends a message to each system. replaced: an exchange that it replaces, with all after it. */
  send(text, media, systems, replaced) {
    const removed = replaced ? this.exchanges.splice(this.exchanges.indexOf(replaced)) : [];
    this.lastExchangeId += 1;
    this.updatedAt = Date.now();
    const exchange = { id: this.lastExchangeId, text, media, replies: [] };
    this.exchanges.push(exchange);
    this.#releaseMedia(removed);
    return this.#requestReplies(exchange, systems.map((system, column) => ({ column, system, seed: null })));
  }

  /** Requests another reply to the same turns, with another seed. */
  tryAgain(exchange, column) {
    const { system } = getSelectedTry(exchange.replies[column]);
    return this.#requestReplies(exchange, [{ column, system, seed: Math.floor(Math.random() * 2 ** 31) }]);
  }

  stop() {
    this.abortController?.abort();
  }

  /** Sets the exchange whose agents are shown. */
  inspect(exchange) {
    this.inspected = exchange;
    this.changed();
  }

  selectTry(exchange, column, index) {
    exchange.replies[column].selected = index;
    this.changed();
  }

  /** Saves the selected replies as run folders, one for each system. */
  saveAsRuns(withFrames) {
    const records = this.exchanges.flatMap(({ replies }) => replies.map(getSelectedTry));
    return saveReplies(records.filter(({ trace }) => trace).map(({ trace, frames }) =>
      ({ trace, frames: withFrames ? frames?.map(({ jpeg }) => jpeg) ?? [] : [] })));
  }

  /** Returns the chat for a download: the text of each turn, and the details of each reply. */
  toJson() {
    const describeReply = (record) => ({
      role: "assistant", system: record.system.id, text: record.reply, emotion: record.emotion,
      outputs: listOutputs(record, getFinalPass(record)),
      audits: record.passes.map(({ audit }) => audit?.findings ?? null),
      trace: record.trace && JSON.parse(record.trace),
    });
    const turns = this.exchanges.flatMap(({ text, media, replies }) => [
      { role: "user", text, files: media.map(({ name }) => name) },
      ...replies.map(getSelectedTry).filter(({ reply }) => reply !== null).map(describeReply),
    ]);
    return { format: "mmerg chat 1", title: this.title, time: new Date(this.updatedAt).toISOString(), turns };
  }

  toMarkdown() {
    const turns = this.toJson().turns.map(({ role, text, files = [], emotion }) => {
      const speaker = `**${role === "user" ? "You" : "mmerg"}**${emotion ? ` (${emotion})` : ""}`;
      return [speaker, text, ...files.map((name) => `[${name}]`)].filter(Boolean).join("\n\n");
    });
    return `${[`# ${this.title}`, ...turns].join("\n\n")}\n`;
  }

  /** Sends one request for each reply, so that each fails alone. Returns their records. */
  async #requestReplies(exchange, requests) {
    this.abortController = new AbortController();
    this.inspected = exchange;
    const started = requests.map(({ column, system, seed }) => {
      const turns = [...this.#listTurnsBefore(exchange, column), makeUserTurn(exchange)];
      const record = newRecord(system, turns.map(({ id }) => id));
      exchange.replies[column] ??= { tries: [], selected: 0 };
      exchange.replies[column].selected = exchange.replies[column].tries.push(record) - 1;
      this.serverIds[column] ??= `chat-${uuid().slice(0, 8)}`;
      const talk = {
        chat: this.serverIds[column], system: system.id, turns: turns.map(({ role, text }) => ({ role, text })), seed,
      };
      return [record, talk];
    });
    this.changed();
    const { signal } = this.abortController;
    await Promise.all(started.map(([record, talk]) => this.#receive(record, talk, exchange.media, signal)));
    this.abortController = null;
    this.changed();
    return started.map(([record]) => record);
  }

  async #receive(record, talk, media, signal) {
    try {
      for await (const [name, data] of streamTurn(talk, media.map(({ kind, file }) => [kind, file]), signal)) {
        applyEvent(record, name, data);
        this.changed();
      }
    } catch (error) {
      const failure = error instanceof PageError ? { ...error } : { what: `this page failed: ${error.message}` };
      if (signal.aborted) record.state = "stopped";
      else applyEvent(record, "failed", failure);
    }
  }

  /** Returns the turns of one column before an exchange, with the ids of their elements. */
  #listTurnsBefore(last, column) {
    return this.exchanges.slice(0, this.exchanges.indexOf(last)).flatMap((exchange) => {
      const { reply } = getSelectedTry(exchange.replies[column] ?? exchange.replies[0]);
      const turn = makeUserTurn({ ...exchange, text: exchange.text || NO_TEXT });
      if (reply === null) return [turn];
      return [turn, { role: "assistant", text: reply, id: replyId(exchange, column) }];
    });
  }

  #releaseMedia(removed) {
    const used = new Set(this.exchanges.flatMap(({ media }) => media));
    for (const file of removed.flatMap(({ media }) => media)) if (!used.has(file)) releaseUrls(file);
  }
}

const makeUserTurn = (exchange) => ({ role: "user", text: exchange.text, id: userTurnId(exchange) });
