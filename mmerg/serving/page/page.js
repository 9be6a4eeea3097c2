/** The chat page: connects the systems of the server, the chat and its elements. */

import * as api from "./api.js";
import { Chat, getSelectedTry } from "./chat.js";
import { copy, download, drawChats } from "./chats.js";
import { Composer } from "./composer.js";
import { find, findAll, make, makeError, printable, updateTimers } from "./dom.js";
import { drawMessages } from "./messages.js";
import { drawPanel } from "./panel.js";
import { idleRecord, shortTitle } from "./record.js";
import { connectSettings } from "./settings.js";
import { listen, speak, stopSpeaking } from "./speech.js";
import * as store from "./store.js";

const conversation = find("#conversation");
const panel = find("#panel");
const panelContent = find("#panel-content");
const systemSelect = find("#system");
const comparedSelect = find("#compared-system");
const STORE_AFTER = 150; // milliseconds from a change until it is stored
const BUSY = "Wait for the reply, or stop it first.";
let followsAgent = true; // the agents' panel follows the running agent until the user scrolls it
let isAtEnd = true; // the conversation scrolls to new text while its end is visible

function announce(text) {
  find("#status").textContent = printable(text);
}

/** Shows and announces a short message. */
function showToast(text) {
  announce(text);
  find("#toast").textContent = text;
  find("#toast").hidden = false;
  clearTimeout(showToast.timer);
  showToast.timer = setTimeout(() => { find("#toast").hidden = true; }, 4000);
}

/** Returns the draft of this window before a reload: {id, text}. id is null for a chat that was not stored. */
function readDraft() {
  try {
    return JSON.parse(sessionStorage.getItem("mmerg-draft"));
  } catch {
    return null;
  }
}

async function start(setup) {
  const oldDraft = readDraft();
  let chat = new Chat(draw);
  let timer = 0;
  let isStored = true; // no change waits to be stored
  const settings = connectSettings(setup.speech_seconds, drawPrivacy);
  const composer = new Composer(setup.limits, send, storeSoon);
  const whenIdle = (act) => (...args) => {
    if (!chat.isBusy) act(...args);
  };
  const actions = {
    inspect,
    tryAgain: whenIdle((exchange, column) => waitForReplies(chat.tryAgain(exchange, column))),
    selectTry: whenIdle((exchange, column, index) => chat.selectTry(exchange, column, index)),
    edit: whenIdle((exchange) => composer.edit(exchange, chat.exchanges.at(-1) === exchange)),
    copy: async (text) => showToast(await copy(text) ? "Copied." : "It could not be copied."),
    read: speak,
  };

  function listChosenSystems() {
    const ids = [systemSelect.value, comparedSelect.value];
    return ids.map((id) => setup.systems.find((system) => system.id === id)).filter(Boolean);
  }

  function send(text, media, replaced) {
    waitForReplies(chat.send(text, media, listChosenSystems(), replaced));
  }

  function draw() {
    const { inspected, isBusy } = chat;
    const isNew = !chat.exchanges.length;
    drawMessages(find("#messages"), chat, actions);
    if (isPanelOpen()) {
      const records = inspected ? inspected.replies.map(getSelectedTry) : listChosenSystems().map(idleRecord);
      drawPanel(panelContent, records, draw);
    }
    for (const button of findAll("[data-inspect]")) {
      button.ariaExpanded = String(isPanelOpen() && button.dataset.inspect === String(inspected?.id));
    }
    for (const button of findAll(".idle-only")) button.ariaDisabled = String(isBusy); // `disabled` would lose the focus
    for (const button of findAll(".chat-action")) button.disabled = isBusy || isNew;
    document.body.classList.toggle("empty", isNew);
    find("#welcome").hidden = !isNew;
    const hadFocus = document.activeElement.matches("#send, #stop");
    find("#send").hidden = isBusy;
    find("#stop").hidden = !isBusy;
    if (hadFocus) find(isBusy ? "#stop" : "#send").focus();
    document.title = chat.title ? `${chat.title} · mmerg` : "Chat with mmerg";
    scrollToEnd();
    scrollToAgent();
    storeSoon();
  }

  /** Waits for replies. Announces their start and end to screen readers. */
  async function waitForReplies(replies) {
    stopSpeaking();
    isAtEnd = followsAgent = true;
    conversation.scrollTop = conversation.scrollHeight;
    panel.scrollTop = 0;
    announce("Sent.");
    storeChat();
    const records = await replies;
    storeChat();
    const texts = records.map(({ system, reply, error }) => {
      const speaker = records.length > 1 ? shortTitle(system) : "mmerg";
      return `${speaker}: ${reply ?? error?.what ?? "stopped"}`;
    });
    announce(texts.join("\n"));
    if (settings.readAloud.checked && records[0].reply) speak(records[0].reply);
  }

  function storeSoon() {
    isStored = false;
    storeDraft();
    timer ||= setTimeout(storeChat, chat.isBusy ? 10 * STORE_AFTER : STORE_AFTER);
  }

  /** Marks the chat as stored. A chat that was only read must not be stored again: other windows would then read it
      too. */
  function markAsStored() {
    clearTimeout(timer);
    timer = 0;
    isStored = true;
  }

  /** Stores the text of the draft at once, in case of a reload. */
  function storeDraft() {
    const draft = { id: chat.revision ? chat.id : null, text: composer.draft.text };
    try {
      sessionStorage.setItem("mmerg-draft", JSON.stringify(draft));
    } catch { /* this browser forbids storage */ }
  }

  /** Stores the chat. Calls run one after the other, as each replaces the stored chat. */
  async function storeChat() {
    const stored = chat;
    clearTimeout(timer);
    timer = 0;
    stored.draft = composer.draft;
    if (stored.isEmpty && !stored.revision) {
      isStored = true;
      return;
    }
    storeChat.last = (storeChat.last ?? Promise.resolve()).then(async () => {
      const warning = find("#storage-warning");
      try {
        const isCopy = await stored.store();
        if (isCopy) showToast("This chat was continued in another window. Your version is stored as a separate chat.");
        if (stored === chat) {
          isStored = true;
          updateAddress("replaceState");
        }
        warning.hidden = true;
      } catch (error) {
        warning.hidden = false;
        warning.title = String(error?.message ?? error);
      }
    });
    await storeChat.last;
  }

  /** Puts the chat's id into the address, for reload and Back. method: of the browser's history. */
  function updateAddress(method) {
    if (location.hash !== `#${chat.id}`) history[method](null, "", chat.revision ? `#${chat.id}` : location.pathname);
  }

  const readChat = async (id) => (id && await Chat.read(id, draw).catch(() => null)) || new Chat(draw);

  /** Opens the chat with this id, or a new one. method: of the browser's history. oldText: the draft's text before a
      reload. */
  async function openChat(id, method, oldText = null) {
    if (chat.isBusy) return showToast(BUSY);
    chat = await readChat(id);
    composer.setDraft({ ...chat.draft, text: oldText ?? chat.draft.text });
    find("#chats").close();
    updateAddress(method);
    drawWelcome();
    isAtEnd = true;
    draw();
    if (chat.revision && oldText === null) markAsStored();
    find("#message-text").focus();
  }

  async function switchChat(id, method = "pushState") {
    if (!chat.isBusy) await storeChat();
    await openChat(id, method);
  }

  /** Draws the start of a chat, which explains the agents on a first visit. */
  async function drawWelcome() {
    const [system] = listChosenSystems();
    const count = system.agents.length;
    const isDefault = system.audits && count === 5;
    const calls = count > 1 ? `${count} agents, one after the other` : "one call";
    find("#system-description").textContent = isDefault
      ? "Five agents answer together: one takes in your words and your face, one names the feeling, one plans a reply "
        + "and one writes it. The fifth checks their work and sends it back if a check fails."
      : `${shortTitle(system)} answers with ${calls}.`;
    const summaries = await store.listSummaries().catch(() => []);
    find("#system-description").hidden = summaries.length > 0 && count === 5;
  }

  async function remove({ id, title }) {
    if (id === chat.id && chat.isBusy) return showToast(BUSY);
    find("#deleted-title").textContent = printable(title);
    find("#delete-dialog").showModal();
    find("#confirm-delete").onclick = async () => {
      const list = find("#chats");
      const wasListed = list.open;
      find("#delete-dialog").close();
      if (id === chat.id) {
        Object.assign(chat, { exchanges: [], revision: 0 });
        composer.clear();
      }
      await store.remove(id);
      store.windows.postMessage({ id, revision: 0 });
      if (id === chat.id) await switchChat(null, "replaceState");
      if (wasListed) {
        await drawList();
        if (!list.open) list.showModal();
      }
      showToast("Deleted.");
    };
  }

  const drawList = () => drawChats(chat.id, switchChat, remove);

  async function saveAsRuns() {
    const result = find("#save-result");
    try {
      const { runs } = await chat.saveAsRuns(find("#save-pictures").checked);
      const commands = runs.map(printable).map((run) => `mmerg show ${run}\nmmerg report ${run}`);
      result.replaceChildren(
        make("p", {}, "Saved on the server:"), ...commands.map((text) => make("pre", { tabIndex: 0 }, text)));
    } catch (error) {
      result.replaceChildren(...makeError(error));
    }
  }

  function downloadChat(suffix, type, content) {
    const time = new Date(chat.updatedAt).toISOString().slice(0, 16).replace(/[T:]/g, "-");
    download(`mmerg-${time}.${suffix}`, type, content);
  }

  /** Says where text, pictures and sound go, and shows what the settings for speech turn on. */
  function drawPrivacy() {
    const hasDictation = settings.dictation.checked;
    const recogniser = setup.speech_seconds
      ? "mmerg, which transcribes it and does not keep it"
      : "your browser’s recogniser, which may send it to the browser’s maker";
    const sound = hasDictation ? ` While you hold the microphone, sound goes to ${recogniser}.` : "";
    const server = printable(setup.destination);
    find("#privacy").textContent =
      `What you write and show goes to ${server} and nowhere else; this chat is kept in this browser.${sound}`;
    find("#mic").hidden = !hasDictation;
    document.body.classList.toggle("reads-aloud", settings.readAloud.checked);
  }

  /** Applies the chosen systems. A system cannot be compared with itself. */
  function applySystems() {
    for (const option of comparedSelect.options) option.disabled = option.value === systemSelect.value;
    if (comparedSelect.selectedOptions[0].disabled) comparedSelect.value = "";
    const titles = listChosenSystems().map(shortTitle);
    find("#backbone").textContent = `${titles.join(" and ")} on ${printable(setup.backbone.name)}`;
    drawWelcome();
    draw();
  }

  function isPanelOpen() {
    return document.body.dataset.panel === "open";
  }

  function showPanel(isOpen) {
    const wasOpen = isPanelOpen();
    document.body.dataset.panel = isOpen ? "open" : "closed";
    panel.hidden = !isOpen;
    draw();
    if (isOpen === wasOpen) return;
    const opener = find(`[data-inspect="${chat.inspected?.id}"]`) ?? find("#message-text");
    (isOpen ? find("#close-panel") : opener).focus({ preventScroll: true });
  }

  /** Shows the agents of an exchange, or closes the panel if it shows them. */
  function inspect(exchange) {
    if (isPanelOpen() && chat.inspected === exchange) return showPanel(false);
    showPanel(true);
    chat.inspect(exchange);
    panel.scrollTop = 0;
  }

  function handleKey(event) {
    const shortcuts = {
      KeyN: () => switchChat(null),
      KeyH: () => find("#open-chats").click(),
      KeyA: () => showPanel(!isPanelOpen()),
      KeyM: () => find("#message-text").focus(),
    };
    if (event.altKey && !event.ctrlKey && !event.metaKey && shortcuts[event.code]) {
      event.preventDefault();
      shortcuts[event.code]();
    }
    if (event.key !== "Escape" || find("dialog[open]")) return;
    if (chat.isBusy) chat.stop();
    else if (isPanelOpen()) showPanel(false);
  }

  /** Shows the changes that another window made to this chat. */
  async function handleWindow({ id, revision, isBusy }) {
    if (find("#chats").open) drawList();
    if (id !== chat.id || isBusy || chat.isBusy || revision === chat.revision) return;
    const hasDraft = composer.draft.text || composer.draft.media.length;
    chat = await readChat(id);
    if (!hasDraft) composer.setDraft(chat.draft);
    draw();
    markAsStored();
  }

  function onClick(selector, act) {
    for (const element of findAll(selector)) element.addEventListener("click", act);
  }

  drawSystems(setup);
  for (const select of [systemSelect, comparedSelect]) select.addEventListener("change", applySystems);
  onClick("#stop", () => chat.stop());
  onClick("#close-panel", () => showPanel(false));
  onClick(".new-chat", () => switchChat(null));
  onClick("#open-chats", () => {
    drawList();
    find("#chats").showModal();
  });
  onClick("#menu button", () => find("#menu").hidePopover());
  onClick("#copy-chat", () => actions.copy(chat.toMarkdown()));
  onClick("#download-markdown", () => downloadChat("md", "text/markdown", chat.toMarkdown()));
  onClick("#download-json", () => downloadChat("json", "application/json", JSON.stringify(chat.toJson(), null, 2)));
  onClick("#save-run", () => {
    find("#save-result").replaceChildren();
    find("#save-dialog").showModal();
  });
  onClick("#confirm-save", saveAsRuns);
  onClick("#delete-chat", () => remove(chat));
  onClick("#open-settings", () => find("#settings").showModal());
  listen(setup.speech_seconds, (text) => composer.append(text), (error) => composer.showError(error));
  addEventListener("popstate", () => switchChat(location.hash.slice(1), "replaceState"));
  addEventListener("beforeunload", (event) => {
    if (!isStored && !find("#storage-warning").hidden) event.preventDefault();
  });
  for (const name of ["pagehide", "visibilitychange"]) {
    addEventListener(name, () => {
      if (!isStored) storeChat();
    });
  }
  addEventListener("keydown", handleKey);
  store.windows.onmessage = ({ data }) => handleWindow(data);
  drawPrivacy();
  applySystems();
  const id = location.hash.slice(1) || null;
  await openChat(id, "replaceState", oldDraft?.id === id ? oldDraft.text : null);
  document.body.dataset.ready = "true";
}

/** Draws the choice of systems, and notes of the server. */
function drawSystems({ backbone, systems, speech_seconds: maxSeconds }) {
  find("#backbone-note").textContent = printable(backbone.note);
  for (const select of [systemSelect, comparedSelect]) {
    select.append(...systems.map((system) => make("option", { value: system.id }, printable(shortTitle(system)))));
  }
  if (maxSeconds) find("#transcription-note").textContent = "mmerg transcribes the speech and does not keep the sound.";
}

/** Keeps the end of the conversation visible. A new chat starts at its top. */
function scrollToEnd() {
  if (isAtEnd) conversation.scrollTop = find("#welcome").hidden ? conversation.scrollHeight : 0;
}

/** Scrolls the agents' panel to the running agent. */
function scrollToAgent() {
  const step = find(".step.running", panelContent);
  if (!step || !followsAgent) return;
  const overlap = step.getBoundingClientRect().bottom - panel.getBoundingClientRect().bottom;
  panel.scrollTop += Math.max(0, overlap + 16);
}

/** Highlights the turn or frame that evidence cites while the pointer or focus is on the evidence. */
function highlightCited({ target, type }) {
  const cites = target.closest?.("[data-cites]")?.dataset.cites;
  if (!cites) return;
  const frame = find(`[data-frame="${cites.replace("frame ", "")}"]`, target.closest(".system"));
  const isOn = type === "mouseover" || type === "focusin";
  (document.getElementById(cites) ?? frame)?.classList.toggle("highlighted", isOn);
}

for (const name of ["mouseover", "mouseout", "focusin", "focusout"]) {
  panelContent.addEventListener(name, highlightCited);
}
for (const name of ["wheel", "touchmove", "keydown", "pointerdown"]) {
  panel.addEventListener(name, () => { followsAgent = false; }, { passive: true });
}
conversation.addEventListener("scroll", () => {
  isAtEnd = conversation.scrollHeight - conversation.scrollTop - conversation.clientHeight < 120;
}, { passive: true });
new ResizeObserver(scrollToEnd).observe(conversation);
for (const dialog of findAll("dialog")) {
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog || "close" in target.dataset) dialog.close();
  });
}
find("#composer").addEventListener("submit", (event) => event.preventDefault());
setInterval(updateTimers, 200);

try {
  await start(await api.fetchSetup());
} catch (error) {
  find("#error").replaceChildren(...makeError(error));
  find("#send").disabled = true;
}
