// Shows one item at a time. Each answer is sent at once, and kept in the browser until the server has saved it.

const byId = (id) => document.getElementById(id);
const token = location.hash.slice(1);
const KEYS = { first: "a", tie: "t", second: "b" };
let study, place, item, answers;
let urls = [];
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

// Returns the stored value, or the default.
function readStored(key, defaultValue) {
  try {
    return JSON.parse(localStorage.getItem(`rating-${key}`)) ?? defaultValue;
  } catch { // private windows may forbid storage
    return defaultValue;
  }
}

function writeStored(key, value) {
  try {
    localStorage.setItem(`rating-${key}`, JSON.stringify(value));
  } catch { /* private windows may forbid storage */ }
}

const pendingKey = token.slice(0, 8);
const browser = readStored("browser", createId());
writeStored("browser", browser);
let pending = readStored(pendingKey, []); // answers that the server has not yet confirmed
let sending = null, submitting = null;

async function request(path, body) {
  const headers = { Authorization: `Bearer ${token}` };
  if (body) headers["Content-Type"] = "application/json";
  const response = await fetch(path, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  if (response.ok) return response;
  const what = `the server responded with ${response.status}`;
  const fields = await response.json().catch(() => ({ what, hint: "" }));
  const { status } = response;
  throw Object.assign(new Error(`${fields.what}. ${fields.hint}`), { status, isRefused: status < 500 });
}

// Tries until the server responds. Throws only if it refuses the request.
async function requestUntilAnswered(path, body) {
  for (;;) {
    try {
      return await request(path, body);
    } catch (error) {
      if (error.isRefused) throw error;
      byId("saved").textContent = byId("position").textContent = "No connection. Trying again …";
      await new Promise((resolve) => { setTimeout(resolve, 1000); });
    }
  }
}

async function requestJson(path, body) {
  const response = await requestUntilAnswered(path, body);
  return response.json();
}

const createEntry = (question, value) => ({ id: createId(), place, question, value, ms: elapsedMs(), browser });

function save(question, value) {
  pending.push(createEntry(question, value));
  writeStored(pendingKey, pending);
  byId("saved").textContent = "Saving …";
  return sendPending();
}

function sendPending() {
  sending ??= sendAll().catch(showError).finally(() => { sending = null; });
  return sending;
}

async function sendAll() {
  await null; // so that `sending` is set before `finally` clears it
  let status = "Saved";
  while (pending.length) {
    const entry = pending[0];
    try {
      await requestUntilAnswered("answers", entry);
    } catch (error) {
      byId("saved").textContent = status = "Not saved";
      if (error.status !== 400) throw error; // the answer stays in the list until the link is corrected
      showError(error);
    }
    pending = pending.filter(({ id }) => id !== entry.id);
    writeStored(pendingKey, pending);
  }
  byId("saved").textContent = item ? status : "";
}

function showError(error) {
  byId("error").textContent = error.message;
  if (!study) byId("position").textContent = "This study cannot be opened";
}

// Returns milliseconds since the item was shown, without time in which the page was hidden.
function elapsedMs() {
  return Math.round(timer.ms + (document.hidden ? 0 : performance.now() - timer.since));
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    timer.ms += performance.now() - timer.since;
  } else {
    timer.since = performance.now();
    sendPending();
  }
});
addEventListener("online", sendPending);

async function createPicture(name, alt) {
  const src = await fetchMedia(name);
  const attributes = { type: "button", class: "picture", "aria-label": `Enlarge ${alt}` };
  const button = createElement("button", attributes, createElement("img", { src, alt }));
  button.onclick = () => {
    Object.assign(byId("enlarged"), { src, alt });
    byId("picture-dialog").showModal();
  };
  return button;
}

async function createVideo(name, speaker, text) {
  const captions = `WEBVTT\n\n00:00.000 --> 59:59.000\n${speaker}: ${text.replaceAll("\n", " ")}\n`;
  const track = createUrl(new Blob([captions], { type: "text/vtt" }));
  const attributes = { controls: "", playsinline: "", src: await fetchMedia(name), "aria-label": `Clip of ${speaker}` };
  return createElement("video", attributes,
    createElement("track", { kind: "captions", srclang: "en", label: "Captions", src: track }));
}

async function fetchMedia(name) {
  const response = await requestUntilAnswered(`media/${name}`);
  return createUrl(await response.blob());
}

// Returns a URL that the next item revokes.
function createUrl(blob) {
  const url = URL.createObjectURL(blob);
  urls.push(url);
  return url;
}

function createTurn([speaker, text, files], number) {
  const media = createElement("div", { class: "media" });
  files.forEach(async (name, index) => {
    const placeholder = media.appendChild(createElement("span", { class: "placeholder" }));
    const alt = `picture ${index + 1} of turn ${number}`;
    const element = name.endsWith(".mp4") ? createVideo(name, speaker, text) : createPicture(name, alt);
    placeholder.replaceWith(await element.catch((error) => (showError(error), "")));
  });
  return createElement("li", { class: speaker === item.responder ? "responder" : "" },
    createElement("b", {}, speaker), createElement("p", {}, text), ...(files.length ? [media] : []));
}

function createReply(text, index, replies) {
  const title = createElement("h3", {}, `Reply ${"AB"[index]}`);
  return createElement("blockquote", {}, ...(replies.length > 1 ? [title] : []), createElement("p", {}, text));
}

// The questions of an item, as elements by name.
const findQuestion = (name) => document.querySelector(`fieldset[data-name="${name}"]`);
const findInput = (name, point) => document.querySelector(`input[name="${name}"][value="${point}"]`);

function createQuestion([name, question]) {
  const options = [...Object.entries(question.points), ["cannot", "Cannot judge"]].map(([point, text]) => {
    const key = point === "cannot" ? "0" : (KEYS[point] ?? point);
    const input = createElement("input", { type: "radio", name, value: point });
    input.checked = String(answers[name]) === point;
    input.onchange = () => answer(name, point);
    return createElement("label", { class: point },
      input, createElement("kbd", {}, key.toUpperCase()), createElement("span", {}, text));
  });
  const fieldset = createElement("fieldset", { "data-name": name },
    createElement("legend", {}, createElement("b", {}, name), " ", question.ask),
    createElement("div", { class: "options" }, ...options));
  fieldset.addEventListener("focusin", () => markCurrent(name));
  return fieldset;
}

function markCurrent(name) {
  for (const fieldset of document.querySelectorAll("fieldset")) {
    fieldset.classList.toggle("current", fieldset.dataset.name === name);
  }
}

// Returns the first question without an answer, of those after a question and then of all.
function findUnanswered(after) {
  const names = Object.keys(study.questions);
  return [...names.slice(names.indexOf(after) + 1), ...names].find((name) => !(name in answers));
}

function answer(name, point) {
  answers[name] = study.replies === 1 && point !== "cannot" ? Number(point) : point;
  findInput(name, point).checked = true;
  submitted = null;
  save(name, answers[name]);
  const next = findUnanswered(name);
  markCurrent(next);
  if (next) findQuestion(next).scrollIntoView({ block: "nearest" });
  else byId("next").focus({ preventScroll: matchMedia("(min-width: 60em)").matches });
}

// Shows the item at a place. Without a place, all items are done.
async function showItem(newPlace) {
  if (newPlace === null || newPlace === undefined) return showEnd();
  const newItem = await requestJson(`places/${newPlace}`);
  urls.forEach((url) => URL.revokeObjectURL(url));
  place = newPlace;
  item = newItem;
  answers = item.answers;
  submitted = null;
  urls = [];
  timer = { since: performance.now(), ms: 0 };
  study.places = Math.max(study.places, place + 1);
  const { practice, places, replies } = study;
  byId("position").textContent = place < practice
    ? `Practice ${place + 1} of ${practice}`
    : `Item ${place + 1 - practice} of ${places - practice}`;
  Object.assign(byId("progress"), { max: places, value: place });
  const title = replies === 1 ? "The reply" : "Two replies";
  byId("reply-title").textContent = `${title} by ${item.responder || "the listener"}`;
  byId("turns").replaceChildren(...item.history.map((turn, index) => createTurn(turn, index + 1)));
  byId("replies").replaceChildren(...item.replies.map(createReply));
  byId("questions").replaceChildren(...Object.entries(study.questions).map(createQuestion));
  byId("comment").value = answers.comment ?? "";
  byId("message").replaceChildren();
  byId("error").replaceChildren();
  byId("saved").textContent = "";
  byId("back").disabled = place === 0;
  markCurrent(findUnanswered());
  showSection("rate");
  byId("position").focus();
  scrollTo(0, 0);
}

const openItem = (newPlace) => showItem(newPlace).catch(showError);

// Submits once at a time, so that a second click does not skip the message of the first.
function submitOnce() {
  submitting ??= submit().catch(showError).finally(() => { submitting = null; });
}

async function submit() {
  const missing = findUnanswered();
  if (missing) {
    byId("message").textContent = `Please answer ${missing} first, or choose “cannot judge”.`;
    return findQuestion(missing).querySelector("input").focus();
  }
  if (submitted) return showItem(submitted.next);
  await sendPending();
  const response = await requestJson("submit", createEntry("submit", "ok"));
  if (!response.message) return showItem(response.next);
  const verdict = response.fits ? "Your answers match ours." : "Your answers differ from ours.";
  byId("message").textContent = response.again ? response.message : `${verdict} ${response.message}`;
  byId("message").scrollIntoView({ block: "nearest" });
  if (!response.again) submitted = response;
}

function showSection(name) {
  for (const id of ["intro", "rate", "end"]) byId(id).hidden = id !== name;
  byId("progress").hidden = name === "intro";
}

function showEnd() {
  item = null;
  byId("position").textContent = "All done";
  byId("progress").value = byId("progress").max;
  showSection("end");
  byId("position").focus();
}

addEventListener("keydown", (event) => {
  if (byId("rate").hidden || !byId("shortcuts").checked || byId("picture-dialog").open) return;
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("textarea, video, summary")) return;
  const name = document.querySelector("fieldset.current")?.dataset.name ?? findUnanswered();
  const points = name ? Object.keys(study.questions[name].points) : [];
  const matchesKey = (point, index) =>
    (KEYS[point] ?? point) === event.key.toLowerCase() || (study.replies === 2 && String(index + 1) === event.key);
  const point = points.find(matchesKey) ?? (event.key === "0" && "cannot");
  if (name && point) answer(name, point);
  else if (event.key === "Enter" && !event.target.matches("button, input")) submitOnce();
  else if (event.key === "Backspace" && place > 0) openItem(place - 1);
  else return;
  event.preventDefault();
});

byId("rate").onsubmit = (event) => {
  event.preventDefault();
  submitOnce();
};
byId("back").onclick = () => openItem(place - 1);
byId("review").onclick = () => openItem(study.places - 1);
byId("comment").onchange = () => save("comment", byId("comment").value);
byId("shortcuts").onchange = () => writeStored("shortcuts", byId("shortcuts").checked);
byId("consent").onsubmit = async (event) => {
  event.preventDefault();
  place = 0;
  await save("consent", "yes");
  openItem(study.next);
};

async function start() {
  study = await requestJson("study");
  document.title = byId("title").textContent = study.title;
  for (const id of ["instructions", "instructions-again"]) {
    byId(id).append(...study.instructions.map((text) => createElement("li", {}, text)));
  }
  byId("terms").textContent = study.consent;
  const keys = study.replies === 1 ? "1 to 5 answer" : "A, B and T (equally good) answer";
  byId("keys").textContent = byId("keys-again").textContent =
    `${keys} the marked question, 0 is “cannot judge”. Enter goes on, Backspace goes back.`;
  byId("shortcuts").checked = readStored("shortcuts", true);
  byId("position").textContent = `${study.places - study.practice} items`;
  await sendPending();
  if (!study.agreed) return showSection("intro");
  const { next } = await requestJson("study");
  await showItem(next);
}
start().catch(showError);
