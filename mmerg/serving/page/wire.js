/** Requests to the server. */

/** An error: what happened, where, and what to do next. */
export class PageError extends Error {
  constructor({ what, where = "", hint = "" }) {
    super(what);
    Object.assign(this, { what, where, hint });
  }
}

const unreachable = (where) =>
  new PageError({ what: "mmerg cannot be reached", where, hint: "See whether `mmerg serve` still runs, then try again. The chat is kept here." });

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw unreachable(location.host);
  }
  if (response.ok) return response;
  let error = null;
  try {
    error = await response.json();
  } catch { /* not an error of mmerg: only its status is known */ }
  throw new PageError(error?.what ? error : { what: `mmerg answered ${response.status} ${response.statusText}`, where: path });
}

export const fetchSetup = async () => (await request("/page/setup")).json();

/** replies: {trace, frames} each, as received from the server. */
export const saveReplies = async (replies) =>
  (await request("/page/save", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ replies }) })).json();

/** Returns the text of a recording; "" if nothing is said. */
export const transcribe = async (sound) => (await (await request("/page/speech", { method: "POST", body: sound })).json()).text;

/** Returns the first keyframe of a file as a picture. Throws PageError with the reason if there is none. */
export async function checkFile(kind, file) {
  const body = new FormData();
  body.append(kind, file, file.name);
  const response = await request("/page/file", { method: "POST", body });
  if (response.headers.get("content-type").startsWith("image/")) return response.blob();
  throw new PageError(await response.json());
}

/** Yields the events of one turn, [name, data] each. Files are [field, File] pairs. Throws if the stream breaks off. */
export async function* streamTurn(talk, files, signal) {
  const body = new FormData();
  body.append("talk", JSON.stringify(talk));
  for (const [field, file] of files) body.append(field, file, file.name);
  const response = await request("/page/turns", { method: "POST", body, signal });
  let ended = false;
  try {
    for await (const [name, data] of events(response.body)) {
      ended ||= name === "done" || name === "failed";
      yield [name, data];
    }
  } catch (error) {
    if (error.name === "AbortError" || error instanceof SyntaxError) throw error;
    throw unreachable("in the middle of this turn");
  }
  if (!ended) throw unreachable("in the middle of this turn");
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
      const valuesOf = (field) => lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.slice(field.length + 1).replace(/^ /, ""));
      if (valuesOf("data").length) yield [valuesOf("event")[0], JSON.parse(valuesOf("data").join("\n"))];
    }
  }
}
