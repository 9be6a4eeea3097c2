/** Talk to mmerg: from what the server offers to what is seen. Nothing is stored: what is left is forgotten. */

import { Composer } from "./composer.js";
import { all, make, one, problem, seconds, shown } from "./dom.js";
import { idle, short } from "./record.js";
import { Talk, latest } from "./talk.js";
import { drawTurns } from "./turns.js";
import * as wire from "./wire.js";
import { drawWork } from "./work.js";

const [said, work, works] = ["#said", "#work", "#works"].map((name) => one(name));
const announce = (words) => { one("#status").textContent = shown(words); };
let following = true; // the work is scrolled along, until somebody scrolls it

function start(setup) {
  const talk = new Talk(draw);
  const composer = new Composer(setup.limits, (words, media, instead) => go(talk.say(words, media, chosen(), instead, one("#keep").checked)));
  const chosen = () => ["#system", "#beside"].map((name) => setup.systems.find(({ id }) => id === one(name).value)).filter(Boolean);
  const idly = (act) => (...where) => { if (!talk.busy) act(...where); };
  const acts = {
    look: (exchange) => { view("work"); talk.look(exchange); },
    again: idly((exchange, side) => go(talk.again(exchange, side, one("#keep").checked))),
    flip: idly((...where) => talk.flip(...where)),
    edit: idly((exchange) => composer.edit(exchange, talk.exchanges.at(-1) === exchange)),
  };

  function draw() {
    const atEnd = said.scrollHeight - said.scrollTop - said.clientHeight < 80;
    drawTurns(one("#turns"), talk.exchanges, acts);
    drawWork(works, talk.lookedAt ? talk.lookedAt.sides.map(latest) : chosen().map(idle), draw);
    for (const button of all("[data-look]")) button.setAttribute("aria-pressed", String(talk.lookedAt?.id === Number(button.dataset.look)));
    for (const button of all(".idle")) button.setAttribute("aria-disabled", String(talk.busy)); // not disabled: that takes the focus away
    one("#hello").hidden = talk.exchanges.length > 0;
    one("#waiting").hidden = talk.lookedAt !== null;
    const pressed = document.activeElement.matches("#send, #stop");
    one("#send").hidden = talk.busy;
    one("#stop").hidden = !talk.busy;
    if (pressed) one(talk.busy ? "#stop" : "#send").focus();
    one("#save").disabled = one("#forget").disabled = talk.busy || !talk.exchanges.length;
    if (atEnd) said.scrollTop = said.scrollHeight;
    follow();
  }

  /** A run of replies; its start and its end are announced to screen readers. */
  async function go(run) {
    said.scrollTop = said.scrollHeight;
    [following, work.scrollTop] = [true, 0];
    announce("Sent.");
    const records = await run;
    announce(records.map((record) => `${records.length > 1 ? short(record.system) : "mmerg"}: ${record.reply ?? record.failed?.what ?? "stopped"}`).join("\n"));
  }

  async function save() {
    try {
      const { runs, missing } = await talk.save();
      one("#saved-title").textContent = missing ? `Saved, but for ${missing} that the server no longer has` : "Saved";
      one("#saved div").replaceChildren(...runs.map((run) => make("pre", {}, `mmerg show ${shown(run)}\nmmerg report ${shown(run)}`)));
    } catch (error) {
      one("#saved-title").textContent = "Not saved";
      one("#saved div").replaceChildren(...problem(error));
    }
    one("#saved").showModal();
  }

  async function forget() {
    one("#forgetting").close();
    try {
      await talk.forget();
      composer.clear();
      announce("Forgotten.");
    } catch (error) {
      composer.complain(error);
    }
    one("#text").focus();
  }

  /** A system is not put beside itself. */
  function choose() {
    for (const option of one("#beside").options) option.disabled = option.value === one("#system").value;
    if (one("#beside").selectedOptions[0].disabled) one("#beside").value = "";
    draw();
  }

  offer(setup);
  for (const select of all("select")) select.addEventListener("change", choose);
  one("#stop").addEventListener("click", () => talk.stop());
  one("#save").addEventListener("click", save);
  one("#forget").addEventListener("click", () => one("#forgetting").showModal());
  one("#forget-it").addEventListener("click", forget);
  addEventListener("pagehide", (event) => { if (!event.persisted) for (const chat of talk.chats) wire.forget(chat).catch(() => {}); });
  choose();
}

/** What the server has, and what becomes of a face. */
function offer({ backbone, systems, saves, goes_to: place }) {
  one("#backbone").textContent = shown(backbone.name);
  one("#note").textContent = shown(backbone.note);
  one("#privacy").textContent = `Your face goes to ${shown(place)} and no further, and is kept only if you say so.`;
  for (const name of ["#system", "#beside"]) one(name).append(...systems.map((system) => make("option", { value: system.id }, shown(short(system)))));
  one("#save").hidden = one("#keeping").hidden = !saves;
}

function follow() {
  const now = one(".asked", works);
  if (now && following) work.scrollTop += Math.max(0, now.getBoundingClientRect().bottom - work.getBoundingClientRect().bottom + 16);
}

function view(name) {
  document.body.dataset.view = name;
  for (const button of all(".views button")) button.setAttribute("aria-pressed", String(button.dataset.view === name));
}

/** What evidence cites is marked while the pointer or the focus is on it. */
function point(event, on) {
  const cites = event.target.closest?.("[data-cites]")?.dataset.cites;
  const target = cites?.startsWith("frame ") ? one(`[data-frame="${cites.slice(6)}"]`, event.target.closest(".agents")) : cites && document.getElementById(cites);
  target?.classList.toggle("pointed", on);
}

for (const [name, on] of [["mouseover", true], ["mouseout", false], ["focusin", true], ["focusout", false]]) works.addEventListener(name, (event) => point(event, on));
for (const name of ["wheel", "touchmove", "keydown", "pointerdown"]) work.addEventListener(name, () => { following = false; }, { passive: true });
for (const button of all(".views button")) button.addEventListener("click", () => view(button.dataset.view));
for (const dialog of all("dialog")) dialog.addEventListener("click", ({ target }) => { if (target === dialog || "close" in target.dataset) dialog.close(); });
one("#composer").addEventListener("submit", (event) => event.preventDefault());
setInterval(() => { for (const took of all("[data-since]")) took.textContent = seconds((performance.now() - took.dataset.since) / 1000); }, 200);

try {
  start(await wire.setup());
} catch (error) {
  one("#wrong").replaceChildren(...problem(error));
  one("#send").disabled = true;
}
