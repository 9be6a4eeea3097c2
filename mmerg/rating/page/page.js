// Shows one item at a time. Each answer is sent at once, and kept in the browser until the server has saved it.

const $ = (id) => document.getElementById(id);
const token = location.hash.slice(1);
const KEYS = { first: "a", tie: "t", second: "b" };
let study, place, item, answers, urls = [];
let submitted = null; // the server's response to the item, while its message is shown
let timer = { since: 0, ms: 0 }; // when the item last became visible, and how long it was visible before

function createElement(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function createId() {
  return [...crypto.getRandomValues(new Uint32Array(3))].map((number) => number.toString(36)).join("");
}

// The stored value; if there is none, stores and returns the default.
function recall(key, defaultValue) {
  try {
    const stored = localStorage.getItem(`rating-${key}`);
    if (stored !== null) return JSON.parse(stored);
    localStorage.setItem(`rating-${key}`, JSON.stringify(defaultValue));
  } catch { /* Private windows may forbid storage. */ }
  return defaultValue;
}

function remember(key, value) {
  try { localStorage.setItem(`rating-${key}`, JSON.stringify(value)); } catch { /* Private windows may forbid storage. */ }
}

const browser = recall("browser", createId());
let waiting = recall(token.slice(0, 8), []); // answers that the server has not yet confirmed
let sending = null, submitting = null;

async function request(path, body) {
  const headers = { Authorization: `Bearer ${token}`, ...(body && { "Content-Type": "application/json" }) };
  const response = await fetch(path, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  if (response.ok) return response;
  const fields = await response.json().catch(() => ({ what: `the server responded with ${response.status}`, hint: "" }));
  throw Object.assign(new Error(`${fields.what}. ${fields.hint}`), { status: response.status, refused: response.status < 500 });
}

// Tries until the server responds. Throws only if it refuses the request.
async function requestUntilAnswered(path, body) {
  for (;;) {
    try {
      return await request(path, body);
    } catch (error) {
      if (error.refused) throw error;
      $("saved").textContent = $("position").textContent = "No connection. Trying again …";
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

function save(question, value) {
  waiting.push({ id: createId(), place, question, value, ms: elapsedMs(), browser });
  remember(token.slice(0, 8), waiting);
  $("saved").textContent = "Saving …";
  return flush();
}

function flush() {
  sending ??= sendWaiting().catch(showError).finally(() => { sending = null; });
  return sending;
}

async function sendWaiting() {
  await null; // so that `sending` is set before `finally` clears it
  let status = "Saved";
  while (waiting.length) {
    const entry = waiting[0];
    try {
      await requestUntilAnswered("answers", entry);
    } catch (error) {
      $("saved").textContent = status = "Not saved";
      if (error.status !== 400) throw error; // the answer stays in the list until the link is corrected
      showError(error);
    }
    waiting = waiting.filter((other) => other.id !== entry.id);
    remember(token.slice(0, 8), waiting);
  }
  $("saved").textContent = item ? status : "";
}

function showError(error) {
  $("error").textContent = error.message;
  if (!study) $("position").textContent = "This study cannot be opened";
}

// Milliseconds since the item was shown, without time in which the page was hidden.
function elapsedMs() {
  return Math.round(timer.ms + (document.hidden ? 0 : performance.now() - timer.since));
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) timer.ms += performance.now() - timer.since;
  else { timer.since = performance.now(); flush(); }
});
addEventListener("online", flush);

async function createPicture(name, alt) {
  const url = await fetchMedia(name);
  const button = createElement("button", { type: "button", class: "shot", "aria-label": `Enlarge ${alt}` }, createElement("img", { src: url, alt }));
  button.onclick = () => { $("enlarged").src = url; $("enlarged").alt = alt; $("large").showModal(); };
  return button;
}

async function createVideo(name, turn) {
  const captions = `WEBVTT\n\n00:00.000 --> 59:59.000\n${turn.speaker}: ${turn.text.replaceAll("\n", " ")}\n`;
  const track = URL.createObjectURL(new Blob([captions], { type: "text/vtt" }));
  urls.push(track);
  const trackElement = createElement("track", { kind: "captions", srclang: "en", label: "Captions", src: track });
  return createElement("video", { controls: "", playsinline: "", src: await fetchMedia(name), "aria-label": `Clip of ${turn.speaker}` }, trackElement);
}

async function fetchMedia(name) {
  const url = URL.createObjectURL(await (await requestUntilAnswered(`media/${name}`)).blob());
  urls.push(url);
  return url;
}

function createTurn(turn, number) {
  const strip = createElement("div", { class: "media" });
  turn.media.forEach(async (name, index) => {
    const slot = strip.appendChild(createElement("span", { class: "slot" }));
    const media = name.endsWith(".mp4") ? createVideo(name, turn) : createPicture(name, `picture ${index + 1} of turn ${number}`);
    slot.replaceWith(await media.catch((error) => (showError(error), "")));
  });
  return createElement("li", { class: turn.speaker === item.responder ? "responder" : "" }, createElement("b", {}, turn.speaker), createElement("p", {}, turn.text), ...(turn.media.length ? [strip] : []));
}

function createQuestion(name, question) {
  const rows = [...Object.entries(question.points), ["cannot", "Cannot judge"]].map(([point, text]) => {
    const key = point === "cannot" ? "0" : (KEYS[point] ?? point);
    const input = createElement("input", { type: "radio", name, value: point });
    input.onchange = () => choose(name, point);
    return createElement("label", { class: point }, input, createElement("kbd", {}, key.toUpperCase()), createElement("span", {}, text));
  });
  const box = createElement("fieldset", { "data-name": name }, createElement("legend", {}, createElement("b", {}, name), " ", question.ask), createElement("div", { class: "points" }, ...rows));
  box.addEventListener("focusin", () => markCurrent(name));
  return box;
}

function markCurrent(name) {
  for (const box of document.querySelectorAll("fieldset")) box.classList.toggle("current", box.dataset.name === name);
}

// The first question without an answer.
function firstOpen() {
  return Object.keys(study.questions).find((name) => !(name in answers));
}

function choose(name, point) {
  answers[name] = study.replies === 1 && point !== "cannot" ? Number(point) : point;
  document.querySelector(`input[name="${name}"][value="${point}"]`).checked = true;
  submitted = null;
  save(name, answers[name]);
  const names = Object.keys(study.questions);
  const after = names.slice(names.indexOf(name) + 1).find((other) => !(other in answers)) ?? firstOpen();
  if (after) {
    markCurrent(after);
    document.querySelector(`fieldset[data-name="${after}"]`).scrollIntoView({ block: "nearest" });
  } else {
    markCurrent(null);
    $("next").focus({ preventScroll: matchMedia("(min-width: 60em)").matches });
  }
}

// Shows the item at a place. Without a place, all items are done.
async function showItem(newPlace) {
  if (newPlace === null || newPlace === undefined) return showEnd();
  const newItem = await (await requestUntilAnswered(`places/${newPlace}`)).json();
  urls.forEach((url) => URL.revokeObjectURL(url));
  place = newPlace;
  item = newItem;
  answers = item.answers;
  submitted = null;
  urls = [];
  timer = { since: performance.now(), ms: 0 };
  study.places = Math.max(study.places, place + 1);
  const rated = study.places - study.practice;
  $("position").textContent = place < study.practice ? `Practice ${place + 1} of ${study.practice}` : `Item ${place + 1 - study.practice} of ${rated}`;
  $("progress").max = study.places;
  $("progress").value = place;
  $("answer-heading").textContent = study.replies === 1 ? `The reply by ${item.responder || "the listener"}` : `Two replies by ${item.responder || "the listener"}`;
  $("turns").replaceChildren(...item.history.map((turn, index) => createTurn(turn, index + 1)));
  const names = study.replies === 1 ? [""] : ["A", "B"];
  $("replies").replaceChildren(...item.replies.map((text, index) => createElement("blockquote", {}, ...(names[index] ? [createElement("h3", {}, `Reply ${names[index]}`)] : []), createElement("p", {}, text))));
  $("questions").replaceChildren(...Object.entries(study.questions).map(([name, question]) => createQuestion(name, question)));
  for (const name of Object.keys(study.questions)) {
    if (name in answers) document.querySelector(`input[name="${name}"][value="${answers[name]}"]`).checked = true;
  }
  $("comment").value = answers.comment ?? "";
  $("message").replaceChildren();
  $("error").replaceChildren();
  $("saved").textContent = "";
  $("back").disabled = place === 0;
  markCurrent(firstOpen());
  showSection("rate");
  $("position").focus();
  scrollTo(0, 0);
}

// Submits once at a time, so that a second click does not skip the message of the first.
function submitOnce() {
  submitting ??= submit().catch(showError).finally(() => { submitting = null; });
}

async function submit() {
  const missing = firstOpen();
  if (missing) {
    $("message").textContent = `Please answer ${missing} first, or choose “cannot judge”.`;
    return document.querySelector(`fieldset[data-name="${missing}"] input`).focus();
  }
  if (submitted) return showItem(submitted.next);
  await flush();
  const response = await (await requestUntilAnswered(`places/${place}/submit`, { id: createId(), ms: elapsedMs(), browser })).json();
  if (!response.message) return showItem(response.next);
  const verdict = response.again ? "" : response.fits ? "Your answers match ours. " : "Your answers differ from ours. ";
  $("message").textContent = verdict + response.message;
  $("message").scrollIntoView({ block: "nearest" });
  if (!response.again) submitted = response;
}

function showSection(name) {
  for (const id of ["intro", "rate", "end"]) $(id).hidden = id !== name;
  $("progress").hidden = name === "intro";
}

function showEnd() {
  item = null;
  $("position").textContent = "All done";
  $("progress").value = $("progress").max;
  showSection("end");
  $("position").focus();
}

addEventListener("keydown", (event) => {
  if ($("rate").hidden || !$("shortcuts").checked || $("large").open) return;
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("textarea, video, summary")) return;
  const name = document.querySelector("fieldset.current")?.dataset.name ?? firstOpen();
  const points = name ? [...Object.keys(study.questions[name].points)] : [];
  const point = points.find((point, index) => (KEYS[point] ?? point) === event.key.toLowerCase() || (study.replies === 2 && String(index + 1) === event.key));
  if (point !== undefined || (name && event.key === "0")) choose(name, point ?? "cannot");
  else if (event.key === "Enter" && !event.target.matches("button, input")) submitOnce();
  else if (event.key === "Backspace" && place > 0) showItem(place - 1).catch(showError);
  else return;
  event.preventDefault();
});

$("rate").onsubmit = (event) => { event.preventDefault(); submitOnce(); };
$("back").onclick = () => showItem(place - 1).catch(showError);
$("review").onclick = () => showItem(study.places - 1).catch(showError);
$("comment").onchange = () => save("comment", $("comment").value);
$("shortcuts").onchange = () => remember("shortcuts", $("shortcuts").checked);
$("consent").onsubmit = async (event) => {
  event.preventDefault();
  place = 0;
  await save("consent", "yes");
  showItem(study.next).catch(showError);
};

async function start() {
  study = await (await requestUntilAnswered("study")).json();
  document.title = $("title").textContent = study.title;
  const createLines = () => study.instructions.map((text) => createElement("li", {}, text));
  $("instructions").append(...createLines());
  $("instructions-again").append(...createLines());
  $("terms").textContent = study.consent;
  $("keys").textContent = $("keys-again").textContent = study.replies === 1
    ? "1 to 5 answer the marked question, 0 is “cannot judge”. Enter goes on, Backspace goes back."
    : "A, B and T (equally good) answer the marked question, 0 is “cannot judge”. Enter goes on, Backspace goes back.";
  $("shortcuts").checked = recall("shortcuts", true);
  $("position").textContent = `${study.places - study.practice} items`;
  await flush();
  if (study.agreed) return showItem((await (await requestUntilAnswered("study")).json()).next);
  showSection("intro");
}
start().catch(showError);
