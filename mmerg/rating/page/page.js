// One item at a time. Each answer is sent when it is given, and kept in the browser until the server has saved it.

const $ = (id) => document.getElementById(id);
const token = location.hash.slice(1);
const KEYS = { first: "a", tie: "t", second: "b" };
let study, place, item, answers, moved, urls = [], shown = { since: 0, ms: 0 };

function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function random() {
  return [...crypto.getRandomValues(new Uint32Array(3))].map((one) => one.toString(36)).join("");
}

function remembered(key, first) {
  try {
    const kept = localStorage.getItem(`rating-${key}`);
    if (kept !== null) return JSON.parse(kept);
    localStorage.setItem(`rating-${key}`, JSON.stringify(first));
  } catch { /* Private windows may forbid storage. */ }
  return first;
}

function remember(key, value) {
  try { localStorage.setItem(`rating-${key}`, JSON.stringify(value)); } catch { /* Private windows may forbid storage. */ }
}

const browser = remembered("browser", random());
let waiting = remembered(token.slice(0, 8), []); // answers that the server has not yet confirmed
let sending = null, submitting = null;

async function ask(path, body) {
  const headers = { Authorization: `Bearer ${token}`, ...(body && { "Content-Type": "application/json" }) };
  const response = await fetch(path, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  if (response.ok) return response;
  const fields = await response.json().catch(() => ({ what: `the server responded with ${response.status}`, hint: "" }));
  throw Object.assign(new Error(`${fields.what}. ${fields.hint}`), { status: response.status, refused: response.status < 500 });
}

// Tries until the server answers; only its refusals are errors.
async function insist(path, body) {
  for (;;) {
    try {
      return await ask(path, body);
    } catch (error) {
      if (error.refused) throw error;
      $("saved").textContent = $("where").textContent = "No connection. Trying again …";
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
}

function save(question, value) {
  waiting.push({ id: random(), place, question, value, ms: elapsed(), browser });
  remember(token.slice(0, 8), waiting);
  $("saved").textContent = "Saving …";
  return flush();
}

function flush() {
  sending ??= drain().catch(trouble).finally(() => { sending = null; });
  return sending;
}

async function drain() {
  await null; // so that `sending` is set before it ends
  let told = "Saved";
  while (waiting.length) {
    const one = waiting[0];
    try {
      await insist("answers", one);
    } catch (error) {
      $("saved").textContent = told = "Not saved";
      if (error.status !== 400) throw error; // stays in the list until the link or address is right
      trouble(error);
    }
    waiting = waiting.filter((other) => other.id !== one.id);
    remember(token.slice(0, 8), waiting);
  }
  $("saved").textContent = item ? told : "";
}

function trouble(error) {
  $("trouble").textContent = error.message;
  if (!study) $("where").textContent = "This study cannot be opened";
}

// Milliseconds since the item was shown, without time in which the page was hidden.
function elapsed() {
  return Math.round(shown.ms + (document.hidden ? 0 : performance.now() - shown.since));
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) shown.ms += performance.now() - shown.since;
  else { shown.since = performance.now(); flush(); }
});
addEventListener("online", flush);

async function picture(name, alt) {
  const url = await mediaUrl(name);
  const button = make("button", { type: "button", class: "shot", "aria-label": `Enlarge ${alt}` }, make("img", { src: url, alt }));
  button.onclick = () => { $("enlarged").src = url; $("enlarged").alt = alt; $("large").showModal(); };
  return button;
}

async function film(name, turn) {
  const words = `WEBVTT\n\n00:00.000 --> 59:59.000\n${turn.speaker}: ${turn.text.replaceAll("\n", " ")}\n`;
  const track = URL.createObjectURL(new Blob([words], { type: "text/vtt" }));
  urls.push(track);
  const captions = make("track", { kind: "captions", srclang: "en", label: "Words", src: track });
  return make("video", { controls: "", playsinline: "", src: await mediaUrl(name), "aria-label": `Clip of ${turn.speaker}` }, captions);
}

async function mediaUrl(name) {
  const url = URL.createObjectURL(await (await insist(`media/${name}`)).blob());
  urls.push(url);
  return url;
}

function spoken(turn, number) {
  const strip = make("div", { class: "media" });
  turn.media.forEach(async (name, at) => {
    const slot = strip.appendChild(make("span", { class: "slot" }));
    const made = name.endsWith(".mp4") ? film(name, turn) : picture(name, `picture ${at + 1} of turn ${number}`);
    slot.replaceWith(await made.catch((error) => (trouble(error), "")));
  });
  return make("li", { class: turn.speaker === item.responder ? "own" : "" }, make("b", {}, turn.speaker), make("p", {}, turn.text), ...(turn.media.length ? [strip] : []));
}

function asked(name, question) {
  const rows = [...Object.entries(question.points), ["cannot", "Cannot judge"]].map(([point, text]) => {
    const key = point === "cannot" ? "0" : (KEYS[point] ?? point);
    const input = make("input", { type: "radio", name, value: point });
    input.onchange = () => choose(name, point);
    return make("label", { class: point }, input, make("kbd", {}, key.toUpperCase()), make("span", {}, text));
  });
  const box = make("fieldset", { "data-name": name }, make("legend", {}, make("b", {}, name), " ", question.ask), make("div", { class: "points" }, ...rows));
  box.addEventListener("focusin", () => current(name));
  return box;
}

function current(name) {
  for (const box of document.querySelectorAll("fieldset")) box.classList.toggle("current", box.dataset.name === name);
}

function open() {
  return Object.keys(study.questions).find((name) => !(name in answers));
}

function choose(name, point) {
  answers[name] = study.replies === 1 && point !== "cannot" ? Number(point) : point;
  document.querySelector(`input[name="${name}"][value="${point}"]`).checked = true;
  moved = null;
  save(name, answers[name]);
  const names = Object.keys(study.questions);
  const after = names.slice(names.indexOf(name) + 1).find((one) => !(one in answers)) ?? open();
  if (after) {
    current(after);
    document.querySelector(`fieldset[data-name="${after}"]`).scrollIntoView({ block: "nearest" });
  } else {
    current(null);
    $("next").focus({ preventScroll: matchMedia("(min-width: 60em)").matches });
  }
}

async function go(to) {
  if (to === null || to === undefined) return finish();
  const next = await (await insist(`places/${to}`)).json();
  urls.forEach((url) => URL.revokeObjectURL(url));
  [place, item, answers, moved, urls, shown] = [to, next, next.answers, null, [], { since: performance.now(), ms: 0 }];
  study.places = Math.max(study.places, place + 1);
  const rated = study.places - study.practice;
  $("where").textContent = place < study.practice ? `Practice ${place + 1} of ${study.practice}` : `Item ${place + 1 - study.practice} of ${rated}`;
  $("progress").max = study.places;
  $("progress").value = place;
  $("answer").textContent = study.replies === 1 ? `The reply by ${item.responder || "the listener"}` : `Two replies by ${item.responder || "the listener"}`;
  $("turns").replaceChildren(...item.history.map((turn, at) => spoken(turn, at + 1)));
  const names = study.replies === 1 ? [""] : ["A", "B"];
  $("replies").replaceChildren(...item.replies.map((text, at) => make("blockquote", {}, ...(names[at] ? [make("h3", {}, `Reply ${names[at]}`)] : []), make("p", {}, text))));
  $("questions").replaceChildren(...Object.entries(study.questions).map(([name, question]) => asked(name, question)));
  for (const name of Object.keys(study.questions)) {
    if (name in answers) document.querySelector(`input[name="${name}"][value="${answers[name]}"]`).checked = true;
  }
  $("comment").value = answers.comment ?? "";
  $("told").replaceChildren();
  $("trouble").replaceChildren();
  $("saved").textContent = "";
  $("back").disabled = place === 0;
  current(open());
  show("rate");
  $("where").focus();
  scrollTo(0, 0);
}

// One call at a time, so that a second click does not skip the message of the first.
function next() {
  submitting ??= submit().catch(trouble).finally(() => { submitting = null; });
}

async function submit() {
  const missing = open();
  if (missing) {
    $("told").textContent = `Please answer ${missing} first, or choose “cannot judge”.`;
    return document.querySelector(`fieldset[data-name="${missing}"] input`).focus();
  }
  if (moved) return go(moved.next);
  await flush();
  const done = await (await insist(`places/${place}/submit`, { id: random(), ms: elapsed(), browser })).json();
  if (!done.message) return go(done.next);
  const verdict = done.again ? "" : done.fits ? "Your answers match ours. " : "Your answers differ from ours. ";
  $("told").textContent = verdict + done.message;
  $("told").scrollIntoView({ block: "nearest" });
  if (!done.again) moved = done;
}

function show(name) {
  for (const id of ["intro", "rate", "end"]) $(id).hidden = id !== name;
  $("progress").hidden = name === "intro";
}

function finish() {
  item = null;
  $("where").textContent = "All done";
  $("progress").value = $("progress").max;
  show("end");
  $("where").focus();
}

addEventListener("keydown", (event) => {
  if ($("rate").hidden || !$("shortcuts").checked || $("large").open) return;
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("textarea, video, summary")) return;
  const name = document.querySelector("fieldset.current")?.dataset.name ?? open();
  const points = name ? [...Object.keys(study.questions[name].points)] : [];
  const point = points.find((one, at) => (KEYS[one] ?? one) === event.key.toLowerCase() || (study.replies === 2 && String(at + 1) === event.key));
  if (point !== undefined || (name && event.key === "0")) choose(name, point ?? "cannot");
  else if (event.key === "Enter" && !event.target.matches("button, input")) next();
  else if (event.key === "Backspace" && place > 0) go(place - 1).catch(trouble);
  else return;
  event.preventDefault();
});

$("rate").onsubmit = (event) => { event.preventDefault(); next(); };
$("back").onclick = () => go(place - 1).catch(trouble);
$("review").onclick = () => go(study.places - 1).catch(trouble);
$("comment").onchange = () => save("comment", $("comment").value);
$("shortcuts").onchange = () => remember("shortcuts", $("shortcuts").checked);
$("consent").onsubmit = async (event) => {
  event.preventDefault();
  place = 0;
  await save("consent", "yes");
  go(study.next).catch(trouble);
};

async function begin() {
  study = await (await insist("study")).json();
  document.title = $("title").textContent = study.title;
  const lines = () => study.instructions.map((text) => make("li", {}, text));
  $("instructions").append(...lines());
  $("again").append(...lines());
  $("terms").textContent = study.consent;
  $("keys").textContent = $("keys-again").textContent = study.replies === 1
    ? "1 to 5 answer the marked question, 0 is “cannot judge”. Enter goes on, Backspace goes back."
    : "A, B and T (equally good) answer the marked question, 0 is “cannot judge”. Enter goes on, Backspace goes back.";
  $("shortcuts").checked = remembered("shortcuts", true);
  $("where").textContent = `${study.places - study.practice} items`;
  await flush();
  if (study.agreed) return go((await (await insist("study")).json()).next);
  show("intro");
}
begin().catch(trouble);
