/** Chats stored in this browser: each as a whole, a head for the list, and each attached file once. */

const database = new Promise((resolve, reject) => {
  const request = indexedDB.open("mmerg", 1);
  request.onupgradeneeded = () => { for (const name of ["talks", "heads", "files"]) request.result.createObjectStore(name, { keyPath: "id" }); };
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
database.catch(() => {}); // the first attempt to store something reports it

const resultOf = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
const completion = (transaction) => new Promise((resolve, reject) => { transaction.oncomplete = () => resolve(); transaction.onabort = transaction.onerror = () => reject(transaction.error); });

/** Returns the heads of all chats, newest first: {id, rev, title, at}. */
export async function listHeads() {
  const all = await resultOf((await database).transaction("heads").objectStore("heads").getAll());
  return all.filter(({ title }) => title).sort((left, right) => right.at - left.at);
}

/** Returns a chat and its files by id; null if there is none. */
export async function load(id) {
  const transaction = (await database).transaction(["talks", "files"]);
  const talk = await resultOf(transaction.objectStore("talks").get(id));
  if (!talk) return null;
  const all = await Promise.all(talk.files.map((file) => resultOf(transaction.objectStore("files").get(file))));
  return [talk, new Map(all.filter(Boolean).map((file) => [file.id, file]))];
}

/** Replaces a stored chat. files: those not yet stored, {id, file, still} each. Returns false and writes nothing if
    another window has stored the chat since it was read. */
export async function save(talk, files) {
  const transaction = (await database).transaction(["talks", "heads", "files"], "readwrite");
  const head = await resultOf(transaction.objectStore("heads").get(talk.id));
  if ((head?.rev ?? 0) !== talk.rev) return false;
  const rev = talk.rev + 1;
  for (const file of files) transaction.objectStore("files").put(file);
  transaction.objectStore("talks").put({ ...talk, rev });
  transaction.objectStore("heads").put({ id: talk.id, rev, title: talk.title, at: talk.at });
  await completion(transaction);
  return true;
}

export async function remove(id) {
  const transaction = (await database).transaction(["talks", "heads", "files"], "readwrite");
  const talk = await resultOf(transaction.objectStore("talks").get(id));
  for (const file of talk?.files ?? []) transaction.objectStore("files").delete(file);
  for (const name of ["talks", "heads"]) transaction.objectStore(name).delete(id);
  await completion(transaction);
}

/** Tells other windows about stored and deleted chats: {id, rev}. */
export const windows = new BroadcastChannel("mmerg");
