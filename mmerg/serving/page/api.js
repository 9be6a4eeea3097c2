/** Requests to the server. */

/** An error: what happened, where, and what to do next. */
export class PageError extends Error {
  constructor({ what, where = "", hint = "" }) {
    super(what);
    Object.assign(this, { what, where, hint });
  }
}

function makeConnectionError(where) {
  const hint = "See whether `mmerg serve` still runs, then try again. The chat is kept here.";
  return new PageError({ what: "mmerg cannot be reached", where, hint });
}

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw makeConnectionError(location.host);
  }
  if (response.ok) return response;
  const error = await response.json().catch(() => null); // an error of mmerg is JSON
  const what = `mmerg answered ${response.status} ${response.statusText}`;
  throw new PageError(error?.what ? error : { what, where: path });
}

async function requestJson(path, options) {
  const response = await request(path, options);
  return response.json();
}

export const fetchSetup = () => requestJson("/page/setup");

/** replies: {trace, frames} each, as received from the server. */
export const saveReplies = (replies) => requestJson("/page/save", {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ replies }),
});

/** Returns the text of a recording; "" if nothing is said. */
export async function transcribe(sound) {
  const { text } = await requestJson("/page/speech", { method: "POST", body: sound });
  return text;
}

/** Returns the first keyframe of a file as a picture. Throws PageError with the reason if there is none. */
export async function checkFile(kind, file) {
  const body = new FormData();
  body.append(kind, file, file.name);
  const response = await request("/page/file", { method: "POST", body });
  if (response.headers.get("content-type").startsWith("image/")) return response.blob();
  throw new PageError(await response.json());
}

/** Yields the events of one turn, [name, data] each. files: [field, File] each. Throws if the stream breaks off. */
export async function* streamTurn(talk, files, signal) {
  const body = new FormData();
  body.append("talk", JSON.stringify(talk));
  for (const [field, file] of files) body.append(field, file, file.name);
  const response = await request("/page/turns", { method: "POST", body, signal });
  let ended = false;
  try {
    for await (const [name, data] of readEvents(response.body)) {
      ended ||= name === "done" || name === "failed";
      yield [name, data];
    }
  } catch (error) {
    if (error.name === "AbortError" || error instanceof SyntaxError) throw error;
    ended = false;
  }
  if (!ended) throw makeConnectionError("in the middle of this turn");
}

async function* readEvents(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r\n\r\n|\n\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = { event: [], data: [] };
      for (const line of block.split(/\r?\n/)) {
        const [, name, text] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
        fields[name]?.push(text);
      }
      if (fields.data.length) yield [fields.event[0], JSON.parse(fields.data.join("\n"))];
    }
  }
}
