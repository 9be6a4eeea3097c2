/** Chats stored in this browser: each as a whole, a summary for the list, and each attached file once. */

const TABLES = ["chats", "summaries", "files"];

const database = new Promise((resolve, reject) => {
  const request = indexedDB.open("mmerg-chats", 1);
  request.onupgradeneeded = () => TABLES.forEach((name) => request.result.createObjectStore(name, { keyPath: "id" }));
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
database.catch(() => {}); // the first attempt to store something reports it

const resultOf = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

const completionOf = (transaction) => new Promise((resolve, reject) => {
  transaction.oncomplete = () => resolve();
  transaction.onabort = transaction.onerror = () => reject(transaction.error);
});

/** Starts a transaction. Returns it with its tables. */
async function open(mode) {
  const transaction = (await database).transaction(TABLES, mode);
  return { transaction, ...Object.fromEntries(TABLES.map((name) => [name, transaction.objectStore(name)])) };
}

/** Returns the summaries of all chats, newest first: {id, revision, title, updatedAt}. */
export async function listSummaries() {
  const { summaries } = await open("readonly");
  const all = await resultOf(summaries.getAll());
  return all.filter(({ title }) => title).sort((left, right) => right.updatedAt - left.updatedAt);
}

/** Returns a chat and its files by id; null if there is none. */
export async function load(id) {
  const { chats, files } = await open("readonly");
  const chat = await resultOf(chats.get(id));
  if (!chat) return null;
  const all = await Promise.all(chat.files.map((file) => resultOf(files.get(file))));
  return [chat, new Map(all.filter(Boolean).map((file) => [file.id, file]))];
}

/** Replaces a stored chat. newFiles: those not yet stored, {id, file, still} each. Returns false and writes nothing if
    another window has stored the chat since it was read. */
export async function save(chat, newFiles) {
  const { transaction, chats, summaries, files } = await open("readwrite");
  const { id, title, updatedAt } = chat;
  const summary = await resultOf(summaries.get(id));
  if ((summary?.revision ?? 0) !== chat.revision) return false;
  const revision = chat.revision + 1;
  for (const file of newFiles) files.put(file);
  chats.put({ ...chat, revision });
  summaries.put({ id, revision, title, updatedAt });
  await completionOf(transaction);
  return true;
}

export async function remove(id) {
  const { transaction, chats, summaries, files } = await open("readwrite");
  const chat = await resultOf(chats.get(id));
  for (const file of chat?.files ?? []) files.delete(file);
  for (const table of [chats, summaries]) table.delete(id);
  await completionOf(transaction);
}

/** Tells other windows about stored and deleted chats: {id, revision, isBusy}. */
export const windows = new BroadcastChannel("mmerg-chats");
