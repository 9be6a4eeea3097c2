/** The chat page: connects the server's systems, the chat and its elements. Chats stay in this browser until deleted. */

import { copy, download, drawChats } from "./chats.js";
import { Composer } from "./composer.js";
import { find, findAll, formatSeconds, make, makeError, printable } from "./dom.js";
import { idleRecord, shortTitle } from "./record.js";
import { connectSettings } from "./settings.js";
import { listen, speak, stopSpeaking } from "./speech.js";
import * as store from "./store.js";
import { selectedTry, Talk } from "./talk.js";
import { drawTurns } from "./turns.js";
import * as wire from "./wire.js";
import { drawWork } from "./work.js";

const [conversation, work, works] = ["#said", "#work", "#works"].map((name) => find(name));
const STORE_AFTER = 150; // milliseconds from a change until it is stored
let following = true; // the agents' panel follows the running agent until the user scrolls it
let atEnd = true; // the conversation scrolls to new text while its end is visible

function announce(words) {
  find("#status").textContent = printable(words);
}

/** Shows and announces a short message. */
function showMessage(words) {
  announce(words);
  find("#notice").textContent = words;
  find("#notice").hidden = false;
  clearTimeout(showMessage.timer);
  showMessage.timer = setTimeout(() => { find("#notice").hidden = true; }, 4000);
}

/** Returns the draft of this window before a reload: {id, words}. id is null for a chat that was not stored. */
function readDraft() {
  try {
    return JSON.parse(sessionStorage.getItem("draft"));
  } catch {
    return null;
  }
}

async function start(setup) {
  const oldDraft = readDraft();
  let talk = new Talk(draw);
  let timer = 0;
  let isStored = true; // no change waits to be stored
  const preferences = connectSettings(setup.speech_seconds, () => drawPrivacy());
  const composer = new Composer(setup.limits, (words, media, instead) => waitForReplies(talk.say(words, media, chosenSystems(), instead)), storeSoon);
  const chosenSystems = () => ["#system", "#beside"].map((name) => setup.systems.find(({ id }) => id === find(name).value)).filter(Boolean);
  const whenIdle = (act) => (...where) => { if (!talk.busy) act(...where); };
  const actions = {
    look: (exchange) => { if (isOpen() && talk.lookedAt === exchange) openWork(false); else { openWork(true); talk.look(exchange); work.scrollTop = 0; } },
    tryAgain: whenIdle((exchange, side) => waitForReplies(talk.tryAgain(exchange, side))),
    flip: whenIdle((...where) => talk.flip(...where)),
    edit: whenIdle((exchange) => composer.edit(exchange, talk.exchanges.at(-1) === exchange)),
    copy: async (words) => showMessage(await copy(words) ? "Copied." : "It could not be copied."),
    read: speak,
  };

  function draw() {
    drawTurns(find("#turns"), talk, actions);
    if (isOpen()) drawWork(works, talk.lookedAt ? talk.lookedAt.sides.map(selectedTry) : chosenSystems().map(idleRecord), draw);
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
    scrollToEnd();
    followAgent();
    storeSoon();
  }

  /** Waits for replies. Announces their start and end to screen readers. */
  async function waitForReplies(run) {
    stopSpeaking();
    [atEnd, conversation.scrollTop] = [true, conversation.scrollHeight];
    [following, work.scrollTop] = [true, 0];
    announce("Sent.");
    storeChat();
    const records = await run;
    storeChat();
    announce(records.map((record) => `${records.length > 1 ? shortTitle(record.system) : "mmerg"}: ${record.reply ?? record.failed?.what ?? "stopped"}`).join("\n"));
    if (preferences.reading && records[0].reply) speak(records[0].reply);
  }

  function storeSoon() {
    isStored = false;
    storeDraft();
    timer ||= setTimeout(storeChat, talk.busy ? 10 * STORE_AFTER : STORE_AFTER);
  }

  /** Marks the chat as stored. A chat that was only read must not be stored again: other windows would then read it too. */
  function markAsStored() {
    clearTimeout(timer);
    [timer, isStored] = [0, true];
  }

  /** Stores the text of the draft at once, in case of a reload. */
  function storeDraft() {
    const { words } = composer.draft;
    try {
      sessionStorage.setItem("draft", JSON.stringify({ id: talk.rev ? talk.id : null, words }));
    } catch { /* this browser forbids storage */ }
  }

  /** Stores the chat. Calls run one after the other, as each replaces the stored chat. */
  async function storeChat() {
    clearTimeout(timer);
    timer = 0;
    const mine = talk;
    mine.draft = composer.draft;
    if (!mine.exchanges.length && !mine.draft.words && !mine.draft.media.length && !mine.rev) return void (isStored = true);
    storeChat.last = (storeChat.last ?? Promise.resolve()).then(async () => {
      try {
        if (await mine.store()) showMessage("This chat was continued in another window. This window’s version is saved as a separate chat.");
        if (mine === talk) { isStored = true; updateAddress(false); }
        find("#unkept").hidden = true;
      } catch (error) {
        find("#unkept").hidden = false;
        find("#unkept").title = String(error?.message ?? error);
      }
    });
    await storeChat.last;
  }

  /** Puts the chat's id into the address, for reload and Back. */
  function updateAddress(push) {
    const hash = talk.rev ? `#${talk.id}` : location.pathname;
    if (location.hash !== `#${talk.id}`) history[push ? "pushState" : "replaceState"](null, "", hash);
  }

  /** Opens the chat with this id, or a new one. push: adds it to the browser's history. first: true while the page opens. */
  async function openChat(id, push, first = false) {
    if (talk.busy) return showMessage("Wait for the reply, or stop it first.");
    const before = first && oldDraft?.id === id ? oldDraft.words : null;
    if (!first) await storeChat();
    talk = (id && await Talk.read(id, draw).catch(() => null)) || new Talk(draw);
    composer.begin({ ...talk.draft, words: before ?? talk.draft.words });
    find("#chats").close();
    updateAddress(push);
    drawHello();
    atEnd = true;
    draw();
    if (talk.rev && before === null) markAsStored();
    find("#text").focus();
  }

  /** Draws the start of a chat, which explains the agents on a first visit. */
  async function drawHello() {
    const [system] = chosenSystems();
    const count = system.agents.length;
    find("#explained").textContent = system.audits && count === 5
      ? "Five agents answer together: one takes in your words and your face, one names the feeling, one plans a reply and one writes it. The fifth checks their work and sends it back if a check fails."
      : count > 1 ? `${shortTitle(system)} answers with ${count} agents, one after the other.` : `${shortTitle(system)} answers with one call.`;
    find("#explained").hidden = await store.listHeads().then((heads) => heads.length > 0 && count === 5, () => false);
  }

  async function remove(head) {
    if (head.id === talk.id && talk.busy) return showMessage("Wait for the reply, or stop it first.");
    find("#deleting-name").textContent = printable(head.title);
    find("#deleting").showModal();
    find("#delete-it").onclick = async () => {
      const listed = find("#chats").open;
      find("#deleting").close();
      if (head.id === talk.id) { Object.assign(talk, { exchanges: [], rev: 0 }); composer.begin(); }
      await store.remove(head.id);
      store.windows.postMessage({ id: head.id, rev: 0 });
      if (head.id === talk.id) await openChat(null, false);
      if (listed) {
        await drawList();
        if (!find("#chats").open) find("#chats").showModal();
      }
      showMessage("Deleted.");
    };
  }

  const drawList = () => drawChats(talk.id, (id) => openChat(id, true), remove);

  async function saveRuns() {
    const out = find("#saving-result");
    try {
      const { runs } = await talk.saveAsRuns(find("#keep").checked);
      out.replaceChildren(make("p", {}, "Saved on the server:"), ...runs.map((run) => make("pre", { tabIndex: 0 }, `mmerg show ${printable(run)}\nmmerg report ${printable(run)}`)));
    } catch (error) {
      out.replaceChildren(...makeError(error));
    }
  }

  const name = () => `mmerg-${new Date(talk.at).toISOString().slice(0, 16).replace(/[T:]/g, "-")}`;
  const menuActions = {
    "copy-all": () => actions.copy(talk.markdown),
    "as-markdown": () => download(`${name()}.md`, "text/markdown", talk.markdown),
    "as-json": () => download(`${name()}.json`, "application/json", JSON.stringify(talk.plain, null, 2)),
    "as-run": () => { find("#saving-result").replaceChildren(); find("#saving").showModal(); },
    "delete-chat": () => remove(talk),
    "open-settings": () => find("#settings").showModal(),
  };
  for (const [id, act] of Object.entries(menuActions)) find(`#${id}`).addEventListener("click", () => { find("#menu").hidePopover(); act(); });

  /** Says where text, pictures and sound go, and shows what the settings for speech turn on. */
  function drawPrivacy() {
    const way = setup.speech_seconds ? "mmerg, which transcribes it and does not keep it" : "your browser’s recogniser, which may send it to the browser’s maker";
    const sound = preferences.talking ? ` While you hold the microphone, sound goes to ${way}.` : "";
    find("#privacy").textContent = `What you write and show goes to ${printable(setup.goes_to)} and nowhere else; this chat is kept in this browser.${sound}`;
    find("#mic").hidden = !preferences.talking;
    document.body.classList.toggle("reading", preferences.reading);
  }

  /** Applies the chosen systems. A system cannot be compared with itself. */
  function applySystems() {
    for (const option of find("#beside").options) option.disabled = option.value === find("#system").value;
    if (find("#beside").selectedOptions[0].disabled) find("#beside").value = "";
    find("#backbone").textContent = `${chosenSystems().map(shortTitle).join(" and ")} on ${printable(setup.backbone.name)}`;
    drawHello();
    draw();
  }

  function isOpen() {
    return document.body.dataset.work === "open";
  }

  function openWork(on) {
    const was = isOpen();
    document.body.dataset.work = on ? "open" : "closed";
    work.hidden = !on;
    draw();
    if (on && !was) find("#close-work").focus({ preventScroll: true });
    if (!on && was) (find(`[data-look="${talk.lookedAt?.id}"]`) ?? find("#text")).focus({ preventScroll: true });
  }

  drawSystems(setup);
  for (const select of findAll("#system, #beside")) select.addEventListener("change", applySystems);
  find("#stop").addEventListener("click", () => talk.stop());
  find("#do-save").addEventListener("click", saveRuns);
  find("#close-work").addEventListener("click", () => openWork(false));
  find("#open-chats").addEventListener("click", () => { drawList(); find("#chats").showModal(); });
  for (const button of findAll(".new-chat")) button.addEventListener("click", () => openChat(null, true));
  listen(setup.speech_seconds, (words) => composer.add(words), (error) => composer.complain(error));
  addEventListener("popstate", () => openChat(location.hash.slice(1), false));
  addEventListener("beforeunload", (event) => { if (!isStored && !find("#unkept").hidden) event.preventDefault(); });
  for (const event of ["pagehide", "visibilitychange"]) addEventListener(event, () => { if (!isStored) storeChat(); });
  addEventListener("keydown", (event) => {
    const keys = { KeyN: () => openChat(null, true), KeyH: () => find("#open-chats").click(), KeyA: () => openWork(!isOpen()), KeyM: () => find("#text").focus() };
    if (event.altKey && !event.ctrlKey && !event.metaKey && keys[event.code]) { event.preventDefault(); keys[event.code](); }
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    if (talk.busy) talk.stop();
    else if (isOpen()) openWork(false);
  });
  store.windows.onmessage = async ({ data: { id, rev, busy } }) => {
    if (find("#chats").open) drawList();
    if (id !== talk.id || busy || talk.busy || rev === talk.rev) return;
    const [draft, other] = [composer.draft, await Talk.read(id, draw).catch(() => null)];
    talk = other ?? new Talk(draw);
    if (!draft.words && !draft.media.length) composer.begin(talk.draft);
    draw();
    markAsStored();
  };
  drawPrivacy();
  applySystems();
  await openChat(location.hash.slice(1) || null, false, true);
  document.body.dataset.ready = "true";
  if (matchMedia("(pointer: fine)").matches) find("#text").focus();
}

/** Draws the choice of systems, and notes of the server. */
function drawSystems({ backbone, systems, speech_seconds }) {
  find("#note").textContent = printable(backbone.note);
  for (const name of ["#system", "#beside"]) find(name).append(...systems.map((system) => make("option", { value: system.id }, printable(shortTitle(system)))));
  if (speech_seconds) find("#transcriber").textContent = "mmerg transcribes the speech and does not keep the sound.";
}

/** Keeps the end of the conversation visible. A new chat starts at its top. */
function scrollToEnd() {
  if (atEnd) conversation.scrollTop = find("#hello").hidden ? conversation.scrollHeight : 0;
}

function followAgent() {
  const now = find(".asked", works);
  if (now && following) work.scrollTop += Math.max(0, now.getBoundingClientRect().bottom - work.getBoundingClientRect().bottom + 16);
}

/** Highlights the turn or frame that evidence cites while the pointer or focus is on the evidence. */
function highlightCited(event, on) {
  const cites = event.target.closest?.("[data-cites]")?.dataset.cites;
  const target = cites?.startsWith("frame ") ? find(`[data-frame="${cites.slice(6)}"]`, event.target.closest(".agents")) : cites && document.getElementById(cites);
  target?.classList.toggle("pointed", on);
}

for (const [name, on] of [["mouseover", true], ["mouseout", false], ["focusin", true], ["focusout", false]]) works.addEventListener(name, (event) => highlightCited(event, on));
conversation.addEventListener("scroll", () => { atEnd = conversation.scrollHeight - conversation.scrollTop - conversation.clientHeight < 120; }, { passive: true });
new ResizeObserver(scrollToEnd).observe(conversation);
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
