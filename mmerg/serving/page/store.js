/** Talks, kept in this browser: each whole, a head for the list of them, and the files that went along, once each. */

const opened = new Promise((resolve, reject) => {
  const asked = indexedDB.open("mmerg", 1);
  asked.onupgradeneeded = () => { for (const name of ["talks", "heads", "files"]) asked.result.createObjectStore(name, { keyPath: "id" }); };
  asked.onsuccess = () => resolve(asked.result);
  asked.onerror = () => reject(asked.error);
});
opened.catch(() => {}); // told when something is to be kept

const result = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
const done = (transaction) => new Promise((resolve, reject) => { transaction.oncomplete = () => resolve(); transaction.onabort = transaction.onerror = () => reject(transaction.error); });

/** The heads of all talks, the newest first: {id, rev, title, at}. */
export async function heads() {
  const all = await result((await opened).transaction("heads").objectStore("heads").getAll());
  return all.filter(({ title }) => title).sort((one, other) => other.at - one.at);
}

/** A talk, and its files by their ids; null where there is none. */
export async function load(id) {
  const transaction = (await opened).transaction(["talks", "files"]);
  const talk = await result(transaction.objectStore("talks").get(id));
  if (!talk) return null;
  const all = await Promise.all(talk.files.map((one) => result(transaction.objectStore("files").get(one))));
  return [talk, new Map(all.filter(Boolean).map((one) => [one.id, one]))];
}

/** Keep a talk over the one that it was read as. files: those that were not kept yet, {id, file, still} each. False, with
    nothing written, where another window has kept the talk since. */
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

/** Other windows hear of what is kept or dropped here: {id, rev}. */
export const windows = new BroadcastChannel("mmerg");
