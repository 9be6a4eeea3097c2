/* What a report does beyond being read: highlight what evidence cites, enlarge keyframes, filter and sort samples, keys.
   No network, no framework; every page says the same without it. */
"use strict";

(() => {
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));

  /** An element with properties and children. Text only ever becomes text. */
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // Evidence and what it cites, both ways.
  const cited = (target) => all("[data-cites]").filter((item) => item.dataset.cites === target.id);
  const point = (elements, on) => elements.forEach((element) => element.classList.toggle("pointed", on));
  const pair = (element, others) => {
    const show = (on) => () => point([element, ...others], on);
    for (const name of ["mouseenter", "focusin"]) element.addEventListener(name, show(true));
    for (const name of ["mouseleave", "focusout"]) element.addEventListener(name, show(false));
  };
  for (const item of all("[data-cites]")) {
    const target = document.getElementById(item.dataset.cites);
    if (target) pair(item, [target]);
  }
  for (const target of all(".shot, .turn")) {
    const items = cited(target);
    if (items.length) pair(target, items);
  }
  for (const link of all(".cite[href]")) {
    link.addEventListener("click", () => {
      const target = document.getElementById(link.hash.slice(1));
      if (target) target.scrollIntoView({ block: "nearest" });
    });
  }

  // A link into a fold opens it.
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
  addEventListener("beforeprint", () => all("details.unfold").forEach((fold) => { fold.open = true; }));

  // Keyframes, enlarged.
  const shots = all("a.enlarge");
  if (shots.length) {
    const image = make("img", { alt: "" });
    const told = make("p");
    const step = (by, label) => make("button", { type: "button", textContent: label, onclick: () => show(at + by) });
    const [before, after] = [step(-1, "← Previous"), step(1, "Next →")];
    const close = make("button", { type: "button", className: "close", textContent: "Close", onclick: () => viewer.close() });
    const viewer = make("dialog", { className: "viewer" }, image, told, make("div", { className: "row" }, before, after, close));
    viewer.setAttribute("aria-label", "Keyframe");
    let at = 0;
    const show = (number) => {
      at = Math.min(Math.max(number, 0), shots.length - 1);
      const link = shots[at];
      image.src = link.href;
      image.alt = one("img", link).alt;
      const caption = one("figcaption", link.closest("figure"));
      told.textContent = Array.from(caption.children).map((part) => part.textContent).join(" · ");
      before.disabled = at === 0;
      after.disabled = at === shots.length - 1;
    };
    viewer.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft") show(at - 1);
      if (event.key === "ArrowRight") show(at + 1);
    });
    viewer.addEventListener("click", (event) => { if (event.target === viewer) viewer.close(); });
    document.body.append(viewer);
    shots.forEach((link, number) => link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      show(number);
      viewer.showModal();
    }));
  }

  // The table of samples.
  const table = document.getElementById("samples");
  if (table) {
    const form = one("form.filters");
    const body = table.tBodies[0];
    const plain = (text) => text.normalize("NFKC").toLowerCase();
    let rows = Array.from(body.rows, (row) => ({
      row,
      text: plain(row.textContent),
      cells: Array.from(row.cells, (cell) => cell.textContent.trim()),
      blamed: row.cells[4].textContent.trim().split(/\s+/),
      ...row.dataset,
    }));
    const fields = form.elements;
    const heads = all("thead th", table);
    const collator = new Intl.Collator("en");
    const STEP = 200; // rows shown at once: to lay out thousands takes seconds
    let shown = STEP;
    let sorted = { column: 0, down: false };

    const more = make("button", { type: "button", className: "more", hidden: true });
    more.addEventListener("click", () => { shown += STEP; filter(); });
    table.parentElement.after(more);

    const fits = (asked) => {
      const words = plain(asked.q || "").split(/\s+/).filter(Boolean);
      return (entry) =>
        (!asked.outcome || entry.outcome === asked.outcome) &&
        (!asked.passes || entry.passes === asked.passes) &&
        (!asked.blamed || entry.blamed.includes(asked.blamed)) &&
        (!asked.wrong || entry.wrong === "1") &&
        words.every((word) => entry.text.includes(word));
    };
    const asked = () => ({
      q: fields.q.value,
      outcome: fields.outcome.value,
      blamed: fields.blamed.value,
      passes: fields.passes.value,
      wrong: fields.wrong.checked ? "1" : "",
    });
    const filter = () => {
      const keep = fits(asked());
      let count = 0;
      for (const entry of rows) {
        const fit = keep(entry);
        count += fit;
        const hide = !fit || count > shown;
        if (entry.row.hidden !== hide) entry.row.hidden = hide;
      }
      more.hidden = count <= shown;
      more.textContent = `Show more: ${Math.min(shown, count)} of ${count} are shown`;
      const told = `${count} of ${rows.length}`;
      if (fields.shown.value !== told) fields.shown.value = told;
      one(".empty").hidden = count > 0;
    };
    const sort = () => {
      const { column, down } = sorted;
      const numbers = heads[column].dataset.sort === "number";
      const compare = numbers
        ? (a, b) => Number(a.cells[column]) - Number(b.cells[column])
        : (a, b) => collator.compare(a.cells[column], b.cells[column]);
      const ties = (a, b) => Number(a.cells[0]) - Number(b.cells[0]);
      rows = rows.slice().sort((a, b) => (down ? -1 : 1) * compare(a, b) || ties(a, b));
      body.append(...rows.map((entry) => entry.row));
      filter();
      heads.forEach((head, number) => {
        if (number === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
    };

    // The fragment says what is asked for, so that a view can be kept and sent.
    const remember = () => {
      const said = new URLSearchParams(Object.entries(asked()).filter(([, value]) => value));
      if (sorted.column || sorted.down) said.set("sort", `${sorted.down ? "-" : ""}${sorted.column}`);
      const wanted = said.size ? `#${said}` : "";
      if (location.hash !== wanted) history.replaceState(null, "", wanted || location.pathname + location.search);
    };
    const recall = () => {
      const said = new URLSearchParams(location.hash.slice(1));
      for (const name of ["q", "outcome", "blamed", "passes"]) fields[name].value = said.get(name) || "";
      for (const name of ["outcome", "blamed", "passes"]) if (fields[name].selectedIndex < 0) fields[name].value = "";
      fields.wrong.checked = said.get("wrong") === "1";
      const wanted = /^(-?)([0-6])$/.exec(said.get("sort") || "0");
      const column = wanted ? Number(wanted[2]) : 0;
      const down = Boolean(wanted && wanted[1]);
      if (column !== sorted.column || down !== sorted.down) {
        sorted = { column, down };
        sort();
      } else filter();
    };

    heads.forEach((head, column) => {
      const button = make("button", { type: "button", textContent: head.textContent });
      button.addEventListener("click", () => {
        sorted = { column, down: sorted.column === column && !sorted.down };
        sort();
        remember();
      });
      head.replaceChildren(button);
    });
    let waiting = 0;
    form.addEventListener("input", () => {
      shown = STEP;
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(() => { filter(); remember(); });
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(() => { filter(); remember(); }));
    addEventListener("hashchange", recall);
    form.hidden = false;
    recall();
    table.classList.add("ready");
    if (new URLSearchParams(location.search).has("find")) fields.q.focus();
  }

  // Keys. They can be switched off, as somebody who speaks to the browser or rests a hand on the keys may need.
  const OFF = "mmerg-keys-off";
  const stored = {
    get off() { try { return localStorage.getItem(OFF) === "1"; } catch { return false; } },
    set off(value) { try { localStorage.setItem(OFF, value ? "1" : "0"); } catch { /* for this page alone */ } },
  };
  let off = stored.off;
  const list = [
    ["j", "next sample, or row"], ["k", "previous sample, or row"], ["c", "next corrected sample"], ["f", "next failed sample"],
    ["s", "the samples of this run"], ["u", "up: from a sample to its table, from there to the run"],
    ["/", "search the samples"], ["?", "this list"],
  ];
  const keys = make("dl", { className: "keylist" });
  for (const [key, told] of list) keys.append(make("dt", {}, make("kbd", { textContent: key })), make("dd", { textContent: told }));
  const box = make("input", { type: "checkbox", checked: !off });
  box.addEventListener("change", () => { off = !box.checked; stored.off = off; });
  const help = make("dialog", {},
    make("h2", { textContent: "Keys", id: "keys-title" }), keys,
    make("label", { className: "toggle" }, box, "Keys are on"),
    make("button", { type: "button", className: "close", textContent: "Close", onclick: () => help.close() }));
  help.setAttribute("aria-labelledby", "keys-title");
  document.body.append(help);
  const opener = one("button.keys");
  opener.hidden = false;
  opener.addEventListener("click", () => help.showModal());

  const move = (by) => {
    const links = all("#samples tbody tr:not([hidden]) th a");
    const at = links.indexOf(document.activeElement);
    const wanted = one("button.more:not([hidden])");
    if (by > 0 && at === links.length - 1 && wanted) { wanted.click(); move(by); return; }
    const next = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1)];
    if (next) next.focus();
  };
  const search = () => {
    const field = one("form.filters input[type=search]");
    if (field) { field.focus(); field.select(); return; }
    const link = all(".crumbs a").find((found) => /(^|\/)samples\.html$/.test(found.getAttribute("href")));
    if (link) location.href = `${link.href}?find`;
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input, select, textarea, [contenteditable]") || one("dialog[open]")) return;
    if (event.key === "?" && !off) { event.preventDefault(); help.showModal(); return; }
    if (off) return;
    if (event.key === "/") { event.preventDefault(); search(); return; }
    const link = /^[a-z]$/.test(event.key) && one(`a[data-key~="${event.key}"]`);
    if (link) link.click();
    else if (table && (event.key === "j" || event.key === "k")) move(event.key === "j" ? 1 : -1);
  });
})();
