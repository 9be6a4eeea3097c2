/** The chat page: connects the server's systems, the chat and its elements. A chat stays in this browser until deleted. */

import { copy, download, drawChats } from "./chats.js";
import { Composer } from "./composer.js";
import { find, findAll, formatSeconds, make, makeError, printable } from "./dom.js";
import { idleRecord, shortTitle } from "./record.js";
import { settings } from "./settings.js";
import { hush, listen, speak } from "./speech.js";
import * as store from "./store.js";
import { selectedTry, Talk } from "./talk.js";
import { drawTurns } from "./turns.js";
import * as wire from "./wire.js";
import { drawWork } from "./work.js";

const [said, work, works] = ["#said", "#work", "#works"].map((name) => find(name));
const SOON = 150; // milliseconds from a change until it is stored
let following = true; // the agents' panel scrolls along until the user scrolls it
let stuck = true; // the conversation scrolls along while its end is visible

function announce(words) {
  find("#status").textContent = printable(words);
}

/** Shows and announces a short message. */
function tell(words) {
  announce(words);
  find("#told").textContent = words;
  find("#told").hidden = false;
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => { find("#told").hidden = true; }, 4000);
}

/** The draft of this window before a reload: {id, words}; id is null for a chat that was not stored. */
function recalled() {
  try {
    return JSON.parse(sessionStorage.getItem("draft"));
  } catch {
    return null;
  }
}

async function start(setup) {
  const left = recalled();
  let talk = new Talk(draw);
  let timer = 0;
  let kept = true; // everything is stored
  const set = settings(setup.speech_seconds, () => privacy());
  const composer = new Composer(setup.limits, (words, media, instead) => go(talk.say(words, media, chosen(), instead)), later);
  const chosen = () => ["#system", "#beside"].map((name) => setup.systems.find(({ id }) => id === find(name).value)).filter(Boolean);
  const idly = (act) => (...where) => { if (!talk.busy) act(...where); };
  const acts = {
    look: (exchange) => { if (isOpen() && talk.lookedAt === exchange) open(false); else { open(true); talk.look(exchange); work.scrollTop = 0; } },
    tryAgain: idly((exchange, side) => go(talk.tryAgain(exchange, side))),
    flip: idly((...where) => talk.flip(...where)),
    edit: idly((exchange) => composer.edit(exchange, talk.exchanges.at(-1) === exchange)),
    copy: async (words) => tell(await copy(words) ? "Copied." : "It could not be copied."),
    read: speak,
  };

  function draw() {
    drawTurns(find("#turns"), talk, acts);
    if (isOpen()) drawWork(works, talk.lookedAt ? talk.lookedAt.sides.map(selectedTry) : chosen().map(idleRecord), draw);
    for (const button of findAll("[data-look]")) button.setAttribute("aria-expanded", String(isOpen() && talk.lookedAt?.id === Number(button.dataset.look)));
    for (const button of findAll(".idle")) button.setAttribute("aria-disabled", String(talk.busy)); // `disabled` would lose the focus
    document.body.classList.toggle("empty", !talk.exchanges.length);
    find("#hello").hidden = talk.exchanges.length > 0;
    const pressed = document.activeElement.matches("#send, #stop");
    find("#send").hidden = talk.busy;
    find("#stop").hidden = !talk.busy;
    if (pressed) find(talk.busy ? "#stop" : "#send").focus();
    for (const button of findAll(".of-chat")) button.disabled = talk.busy || !talk.exchanges.length;
    document.title = talk.title ? `${talk.title} · mmerg` : "Talk to mmerg";
    stick();
    follow();
    later();
  }

  /** Waits for replies; announces their start and end to screen readers. */
  async function go(run) {
    hush();
    [stuck, said.scrollTop] = [true, said.scrollHeight];
    [following, work.scrollTop] = [true, 0];
    announce("Sent.");
    keep();
    const records = await run;
    keep();
    announce(records.map((record) => `${records.length > 1 ? shortTitle(record.system) : "mmerg"}: ${record.reply ?? record.failed?.what ?? "stopped"}`).join("\n"));
    if (set.reading && records[0].reply) speak(records[0].reply);
  }

  function later() {
    kept = false;
    remember();
    timer ||= setTimeout(keep, talk.busy ? 10 * SOON : SOON);
  }

  /** Marks a chat that was only read as stored: storing it again would make other windows read and store it, too. */
  function unchanged() {
    clearTimeout(timer);
    [timer, kept] = [0, true];
  }

  /** Stores the words of a draft at once, in case of a reload. */
  function remember() {
    const { words } = composer.draft;
    try {
      sessionStorage.setItem("draft", JSON.stringify({ id: talk.rev ? talk.id : null, words }));
    } catch { /* nothing may be kept here */ }
  }


  /** Stores the chat; one call at a time, as each replaces the one before. */
  async function keep() {
    clearTimeout(timer);
    timer = 0;
    const mine = talk;
    mine.draft = composer.draft;
    if (!mine.exchanges.length && !mine.draft.words && !mine.draft.media.length && !mine.rev) return void (kept = true);
    keep.last = (keep.last ?? Promise.resolve()).then(async () => {
      try {
        if (await mine.store()) tell("This chat was continued in another window. This window’s version is saved as a separate chat.");
        if (mine === talk) { kept = true; address(false); }
        find("#unkept").hidden = true;
      } catch (error) {
        find("#unkept").hidden = false;
        find("#unkept").title = String(error?.message ?? error);
      }
    });
    await keep.last;
  }

  /** Puts the chat's id into the address, for reload and Back. */
  function address(anew) {
    const hash = talk.rev ? `#${talk.id}` : location.pathname;
    if (location.hash !== `#${talk.id}`) history[anew ? "pushState" : "replaceState"](null, "", hash);
  }

  /** Opens the chat of an id, or a new one. anew: adds it to the browser's history. */
  async function show(id, anew, first = false) {
    if (talk.busy) return tell("Wait for the reply, or stop it first.");
    const before = first && left?.id === id ? left.words : null;
    if (!first) await keep();
    talk = (id && await Talk.read(id, draw).catch(() => null)) || new Talk(draw);
    composer.begin({ ...talk.draft, words: before ?? talk.draft.words });
    find("#chats").close();
    address(anew);
    hello();
    stuck = true;
    draw();
    if (talk.rev && before === null) unchanged();
    find("#text").focus();
  }

  /** Shows the start of a chat; on a first visit it explains the agents. */
  async function hello() {
    const [system] = chosen();
    const count = system.agents.length;
    find("#explained").textContent = system.audits && count === 5
      ? "Five agents answer together: one takes in your words and your face, one names the feeling, one plans a reply and one writes it. The fifth checks their work and sends it back if a check fails."
      : count > 1 ? `${shortTitle(system)} answers with ${count} agents, one after the other.` : `${shortTitle(system)} answers with one call.`;
    find("#explained").hidden = await store.listHeads().then((heads) => heads.length > 0 && count === 5, () => false);
  }

  async function remove(head) {
    if (head.id === talk.id && talk.busy) return tell("Wait for the reply, or stop it first.");
    find("#deleting-name").textContent = printable(head.title);
    find("#deleting").showModal();
    find("#delete-it").onclick = async () => {
      const listed = find("#chats").open;
      find("#deleting").close();
      if (head.id === talk.id) { Object.assign(talk, { exchanges: [], rev: 0 }); composer.begin(); }
      await store.remove(head.id);
      store.windows.postMessage({ id: head.id, rev: 0 });
      if (head.id === talk.id) await show(null, false);
      if (listed) {
        await list();
        if (!find("#chats").open) find("#chats").showModal();
      }
      tell("Deleted.");
    };
  }

  const list = () => drawChats(talk.id, (id) => show(id, true), remove);

  async function save() {
    const out = find("#saving-result");
    try {
      const { runs } = await talk.saveAsRuns(find("#keep").checked);
      out.replaceChildren(make("p", {}, "Saved on the server:"), ...runs.map((run) => make("pre", { tabIndex: 0 }, `mmerg show ${printable(run)}\nmmerg report ${printable(run)}`)));
    } catch (error) {
      out.replaceChildren(...makeError(error));
    }
  }

  const name = () => `mmerg-${new Date(talk.at).toISOString().slice(0, 16).replace(/[T:]/g, "-")}`;
  const from = {
    "copy-all": () => acts.copy(talk.markdown),
    "as-markdown": () => download(`${name()}.md`, "text/markdown", talk.markdown),
    "as-json": () => download(`${name()}.json`, "application/json", JSON.stringify(talk.plain, null, 2)),
    "as-run": () => { find("#saving-result").replaceChildren(); find("#saving").showModal(); },
    "delete-chat": () => remove(talk),
    "open-settings": () => find("#settings").showModal(),
  };
  for (const [id, act] of Object.entries(from)) find(`#${id}`).addEventListener("click", () => { find("#menu").hidePopover(); act(); });

  /** Shows where words, pictures and sound go, and what the settings for speech turn on. */
  function privacy() {
    const way = setup.speech_seconds ? "mmerg, which transcribes it and does not keep it" : "your browser’s recogniser, which may send it to the browser’s maker";
    const sound = set.talking ? ` While you hold the microphone, sound goes to ${way}.` : "";
    find("#privacy").textContent = `What you write and show goes to ${printable(setup.goes_to)} and nowhere else; this chat is kept in this browser.${sound}`;
    find("#mic").hidden = !set.talking;
    document.body.classList.toggle("reading", set.reading);
  }

  /** Applies the chosen systems. A system cannot be compared with itself. */
  function choose() {
    for (const option of find("#beside").options) option.disabled = option.value === find("#system").value;
    if (find("#beside").selectedOptions[0].disabled) find("#beside").value = "";
    find("#backbone").textContent = `${chosen().map(shortTitle).join(" and ")} on ${printable(setup.backbone.name)}`;
    hello();
    draw();
  }

  function isOpen() {
    return document.body.dataset.work === "open";
  }

  function open(on) {
    const was = isOpen();
    document.body.dataset.work = on ? "open" : "closed";
    work.hidden = !on;
    draw();
    if (on && !was) find("#close-work").focus({ preventScroll: true });
    if (!on && was) (find(`[data-look="${talk.lookedAt?.id}"]`) ?? find("#text")).focus({ preventScroll: true });
  }

  offer(setup);
  for (const select of findAll("#system, #beside")) select.addEventListener("change", choose);
  find("#stop").addEventListener("click", () => talk.stop());
  find("#do-save").addEventListener("click", save);
  find("#close-work").addEventListener("click", () => open(false));
  find("#open-chats").addEventListener("click", () => { list(); find("#chats").showModal(); });
  for (const button of findAll(".new-chat")) button.addEventListener("click", () => show(null, true));
  listen(setup.speech_seconds, (words) => composer.add(words), (error) => composer.complain(error));
  addEventListener("popstate", () => show(location.hash.slice(1), false));
  addEventListener("beforeunload", (event) => { if (!kept && !find("#unkept").hidden) event.preventDefault(); });
  for (const event of ["pagehide", "visibilitychange"]) addEventListener(event, () => { if (!kept) keep(); });
  addEventListener("keydown", (event) => {
    const keys = { KeyN: () => show(null, true), KeyH: () => find("#open-chats").click(), KeyA: () => open(!isOpen()), KeyM: () => find("#text").focus() };
    if (event.altKey && !event.ctrlKey && !event.metaKey && keys[event.code]) { event.preventDefault(); keys[event.code](); }
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    if (talk.busy) talk.stop();
    else if (isOpen()) open(false);
  });
  store.windows.onmessage = async ({ data: { id, rev, busy } }) => {
    if (find("#chats").open) list();
    if (id !== talk.id || busy || talk.busy || rev === talk.rev) return;
    const [draft, other] = [composer.draft, await Talk.read(id, draw).catch(() => null)];
    talk = other ?? new Talk(draw);
    if (!draft.words && !draft.media.length) composer.begin(talk.draft);
    draw();
    unchanged();
  };
  privacy();
  choose();
  await show(location.hash.slice(1) || null, false, true);
  document.body.dataset.ready = "true";
  if (matchMedia("(pointer: fine)").matches) find("#text").focus();
}

/** Shows what the server offers. */
function offer({ backbone, systems, speech_seconds }) {
  find("#note").textContent = printable(backbone.note);
  for (const name of ["#system", "#beside"]) find(name).append(...systems.map((system) => make("option", { value: system.id }, printable(shortTitle(system)))));
  if (speech_seconds) find("#transcriber").textContent = "mmerg transcribes the speech and does not keep the sound.";
}

/** Keeps the end of the conversation visible; a new chat starts at its top. */
function stick() {
  if (stuck) said.scrollTop = find("#hello").hidden ? said.scrollHeight : 0;
}

function follow() {
  const now = find(".asked", works);
  if (now && following) work.scrollTop += Math.max(0, now.getBoundingClientRect().bottom - work.getBoundingClientRect().bottom + 16);
}

/** Marks the turn or frame that evidence cites while the pointer or the focus is on it. */
function point(event, on) {
  const cites = event.target.closest?.("[data-cites]")?.dataset.cites;
  const target = cites?.startsWith("frame ") ? find(`[data-frame="${cites.slice(6)}"]`, event.target.closest(".agents")) : cites && document.getElementById(cites);
  target?.classList.toggle("pointed", on);
}

for (const [name, on] of [["mouseover", true], ["mouseout", false], ["focusin", true], ["focusout", false]]) works.addEventListener(name, (event) => point(event, on));
said.addEventListener("scroll", () => { stuck = said.scrollHeight - said.scrollTop - said.clientHeight < 120; }, { passive: true });
new ResizeObserver(stick).observe(said);
for (const name of ["wheel", "touchmove", "keydown", "pointerdown"]) work.addEventListener(name, () => { following = false; }, { passive: true });
for (const dialog of findAll("dialog")) dialog.addEventListener("click", ({ target }) => { if (target === dialog || "close" in target.dataset) dialog.close(); });
find("#composer").addEventListener("submit", (event) => event.preventDefault());
setInterval(() => { for (const took of findAll("[data-since]")) took.textContent = formatSeconds((performance.now() - took.dataset.since) / 1000); }, 200);

try {
  await start(await wire.fetchSetup());
} catch (error) {
  find("#wrong").replaceChildren(...makeError(error));
  find("#send").disabled = true;
}
