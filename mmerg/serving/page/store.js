/** Chats stored in this browser: each as a whole, a head for the list, and each attached file once. */

const opened = new Promise((resolve, reject) => {
  const asked = indexedDB.open("mmerg", 1);
  asked.onupgradeneeded = () => { for (const name of ["talks", "heads", "files"]) asked.result.createObjectStore(name, { keyPath: "id" }); };
  asked.onsuccess = () => resolve(asked.result);
  asked.onerror = () => reject(asked.error);
});
opened.catch(() => {}); // the first attempt to store something reports it

const result = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
const done = (transaction) => new Promise((resolve, reject) => { transaction.oncomplete = () => resolve(); transaction.onabort = transaction.onerror = () => reject(transaction.error); });

/** The heads of all chats, newest first: {id, rev, title, at}. */
export async function heads() {
  const all = await result((await opened).transaction("heads").objectStore("heads").getAll());
  return all.filter(({ title }) => title).sort((one, other) => other.at - one.at);
}

/** A chat and its files by id; null if there is none. */
export async function load(id) {
  const transaction = (await opened).transaction(["talks", "files"]);
  const talk = await result(transaction.objectStore("talks").get(id));
  if (!talk) return null;
  const all = await Promise.all(talk.files.map((one) => result(transaction.objectStore("files").get(one))));
  return [talk, new Map(all.filter(Boolean).map((one) => [one.id, one]))];
}

/** Replaces a stored chat. files: those not yet stored, {id, file, still} each. Returns false and writes nothing if
    another window has stored the chat since it was read. */
export async function keep(talk, files) {
  const transaction = (await opened).transaction(["talks", "heads", "files"], "readwrite");
  const head = await result(transaction.objectStore("heads").get(talk.id));
  if ((head?.rev ?? 0) !== talk.rev) return false;
  const rev = talk.rev + 1;
  for (const one of files) transaction.objectStore("files").put(one);
  transaction.objectStore("talks").put({ ...talk, rev });
  transaction.objectStore("heads").put({ id: talk.id, rev, title: talk.title, at: talk.at });
  await done(transaction);
  return true;
}

export async function drop(id) {
  const transaction = (await opened).transaction(["talks", "heads", "files"], "readwrite");
  const talk = await result(transaction.objectStore("talks").get(id));
  for (const one of talk?.files ?? []) transaction.objectStore("files").delete(one);
  for (const name of ["talks", "heads"]) transaction.objectStore(name).delete(id);
  await done(transaction);
}

/** Tells other windows about stored and deleted chats: {id, rev}. */
export const windows = new BroadcastChannel("mmerg");
