/** Requests to the server: the events of a turn as they come, and plain requests. */

/** An error: what happened, where, and what to do next. */
export class Wrong extends Error {
  constructor({ what, where = "", hint = "" }) {
    super(what);
    Object.assign(this, { what, where, hint });
  }
}

const gone = (where) =>
  new Wrong({ what: "mmerg cannot be reached", where, hint: "See whether `mmerg serve` still runs, then try again. The chat is kept here." });

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw gone(location.host);
  }
  if (answer.ok) return answer;
  let error = null;
  try {
    error = await answer.json();
  } catch { /* not an error of mmerg: only the status is known */ }
  throw new Wrong(error?.what ? error : { what: `mmerg answered ${answer.status} ${answer.statusText}`, where: path });
}

export const setup = async () => (await ask("/page/setup")).json();

/** replies: {trace, frames} each, as received from the server. */
export const save = async (replies) =>
  (await ask("/page/save", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ replies }) })).json();

/** The words in a recording; "" for none. */
export const transcribe = async (sound) => (await (await ask("/page/speech", { method: "POST", body: sound })).json()).words;

/** The first keyframe of a file as a picture. Throws Wrong with the reason if there is none. */
export async function check(kind, file) {
  const body = new FormData();
  body.append(kind, file, file.name);
  const answer = await ask("/page/file", { method: "POST", body });
  if (answer.headers.get("content-type").startsWith("image/")) return answer.blob();
  throw new Wrong(await answer.json());
}

/** The events of one turn, [name, data] each. Files are [field, File] pairs. Throws if the stream breaks off. */
export async function* turn(talk, files, signal) {
  const body = new FormData();
  body.append("talk", JSON.stringify(talk));
  for (const [field, file] of files) body.append(field, file, file.name);
  const answer = await ask("/page/turns", { method: "POST", body, signal });
  let ended = false;
  try {
    for await (const [name, data] of events(answer.body)) {
      ended ||= name === "done" || name === "failed";
      yield [name, data];
    }
  } catch (error) {
    if (error.name === "AbortError" || error instanceof SyntaxError) throw error;
    throw gone("in the middle of this turn");
  }
  if (!ended) throw gone("in the middle of this turn");
}

async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r\n\r\n|\n\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split(/\r?\n/);
      const of = (field) => lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.slice(field.length + 1).replace(/^ /, ""));
      if (of("data").length) yield [of("event")[0], JSON.parse(of("data").join("\n"))];
    }
  }
}
