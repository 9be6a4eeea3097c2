/* What a report does beyond being read: highlight what evidence cites, enlarge keyframes, filter and sort samples, keys.
   No network, no framework; every page says the same without it. */
"use strict";

// Where this file is there, pages are laid out for it from the first row on; not where it is not, or breaks.
document.documentElement.classList.add("scripted");
addEventListener("error", () => document.documentElement.classList.remove("scripted"));

addEventListener("DOMContentLoaded", () => {
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

  // Calls open in a drawer: what is JSON is laid out, and each text can be copied as it was sent or came.
  const folded = all("details.call");
  const drawer = make("dialog", { className: "drawer" });
  const pretty = (text) => { try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; } };
  const copying = (pre, raw) => {
    const button = make("button", { type: "button", className: "copy", textContent: "Copy" });
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(raw);
        button.textContent = "Copied";
      } catch { // not allowed: what is selected can be copied by hand
        getSelection().selectAllChildren(pre);
        button.textContent = "Selected";
      }
    });
    const code = make("div", { className: "code" });
    pre.replaceWith(code);
    code.append(pre, button);
  };
  const draw = (fold) => {
    const title = make("h3", { id: "drawer-title" }, ...one("summary", fold).cloneNode(true).childNodes);
    const close = make("button", { type: "button", className: "close", textContent: "Close", onclick: () => drawer.close() });
    const rest = Array.from(fold.children).slice(1).map((part) => part.cloneNode(true));
    drawer.replaceChildren(make("div", { className: "top" }, title, close), ...rest);
    for (const pre of all("pre", drawer)) {
      const raw = pre.textContent;
      pre.textContent = pretty(raw);
      copying(pre, raw);
    }
    drawer.scrollTop = 0;
    if (!drawer.open) drawer.showModal();
  };
  if (folded.length) {
    drawer.setAttribute("aria-labelledby", "drawer-title");
    drawer.addEventListener("click", (event) => { if (event.target === drawer) drawer.close(); });
    document.body.append(drawer);
  }
  for (const fold of folded) {
    one("summary", fold).addEventListener("click", (event) => { event.preventDefault(); draw(fold); });
  }

  // A link into a fold opens it.
  const unfold = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (folded.includes(target)) draw(target);
    else if (target instanceof HTMLDetailsElement) target.open = true;
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
    const heads = all("thead th", table);
    const fields = Array.from(form.elements).filter((field) => field.matches("input, select"));
    const search = form.elements.q;
    const plain = (text) => text.normalize("NFKC").toLowerCase();
    let rows = Array.from(body.rows, (row, number) => ({
      row,
      number,
      text: plain([...all("bdi, .text span", row).map((part) => part.textContent), row.dataset.whole || ""].join("\n")),
      blamed: all(".blamed bdi", row).map((name) => name.textContent),
      data: { ...row.dataset },
    }));
    const collator = new Intl.Collator("en");
    const step = Number(table.dataset.step); // rows shown at once: to lay out thousands takes seconds
    let shown = step;
    let paper = false; // a printed table has all rows
    let sorted = { by: "number", down: false };

    const more = make("button", { type: "button", className: "more", hidden: true });
    table.after(more);

    const value = (field) => (field.type === "checkbox" ? (field.checked ? field.value : "") : field.value);
    const fits = () => {
      const words = plain(search.value).split(/\s+/).filter(Boolean);
      const asked = fields.filter((field) => field !== search && value(field)).map((field) => [field.name, value(field)]);
      const like = (entry, name, wanted) => (name === "blamed" ? entry.blamed.includes(wanted) : entry.data[name] === wanted);
      return (entry) =>
        asked.every(([name, wanted]) => like(entry, name, wanted)) && words.every((word) => entry.text.includes(word));
    };
    const order = () => `sorted by ${sorted.by}, ${sorted.down ? "descending" : "ascending"}`;
    const inOrder = () => sorted.by === "number" && !sorted.down;
    const tell = (count) => {
      const told = `${count} of ${rows.length}`;
      const output = form.elements.shown;
      if (output.value !== told) output.value = told;
      const asked = fields.filter(value).map((field) => {
        const label = field.labels[0].textContent.trim();
        if (field.type === "checkbox") return label;
        const chosen = field === search ? `\u201c${field.value}\u201d` : field.selectedOptions[0].textContent;
        return `${label.split(" ")[0].toLowerCase()} ${chosen}`;
      });
      const parts = inOrder() ? asked : [...asked, order()];
      one(".asked span").textContent = `${told} samples`;
      one(".asked span:last-child").textContent = parts.map((part) => `; ${part}`).join("");
    };
    const filter = () => {
      const keep = fits();
      const room = paper ? Infinity : shown;
      let count = 0;
      for (const entry of rows) {
        const fit = keep(entry);
        count += fit;
        const hide = !fit || count > room;
        if (entry.row.hidden !== hide) entry.row.hidden = hide;
      }
      more.hidden = count <= room;
      more.textContent = `Show more: ${Math.min(shown, count)} of ${count} are shown`;
      one(".empty").hidden = count > 0;
      table.hidden = count === 0;
      tell(count);
    };
    const sort = () => {
      const column = heads.findIndex((head) => head.dataset.by === sorted.by);
      const numbers = heads[column].classList.contains("n");
      const keyed = rows.map((entry) => ({ entry, key: entry.row.cells[column].textContent.trim() }));
      const compare = numbers ? (a, b) => Number(a) - Number(b) : (a, b) => collator.compare(a, b);
      keyed.sort((a, b) => // what has no value is last, whichever way
        (a.key === "") - (b.key === "") || (sorted.down ? -1 : 1) * compare(a.key, b.key) || a.entry.number - b.entry.number);
      rows = keyed.map(({ entry }) => entry);
      for (const { row } of rows) body.append(row);
      heads.forEach((head, number) => {
        if (number === column) head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      filter();
    };

    // The fragment says what is asked for, so that a view can be kept and sent.
    const remember = () => {
      const said = new URLSearchParams(fields.filter(value).map((field) => [field.name, value(field)]));
      if (!inOrder()) said.set("sort", `${sorted.down ? "-" : ""}${sorted.by}`);
      const wanted = said.size ? `#${said}` : "";
      if (location.hash !== wanted) history.replaceState(null, "", wanted || location.pathname + location.search);
    };
    const recall = () => {
      const said = new URLSearchParams(location.hash.slice(1));
      for (const field of fields) {
        const wanted = said.get(field.name) || "";
        if (field.type === "checkbox") field.checked = wanted === field.value;
        else field.value = wanted;
        if (field.selectedIndex < 0) field.selectedIndex = 0;
      }
      shown = step;
      const wanted = /^(-?)(\w+)$/.exec(said.get("sort") || "number");
      const known = wanted && heads.some((head) => head.dataset.by === wanted[2]);
      const [by, down] = known ? [wanted[2], wanted[1] === "-"] : ["number", false];
      if (by !== sorted.by || down !== sorted.down) {
        sorted = { by, down };
        sort();
      } else filter();
    };

    for (const head of heads) {
      const button = make("button", { type: "button", textContent: head.textContent });
      button.addEventListener("click", () => {
        sorted = { by: head.dataset.by, down: sorted.by === head.dataset.by && !sorted.down };
        sort();
        remember();
        document.getElementById("sorted").textContent = order();
      });
      head.replaceChildren(button);
    }
    more.addEventListener("click", () => { // the first row that is new has the focus: the button may be gone
      const links = () => all("tbody tr:not([hidden]) th a", table);
      const before = links().length;
      shown += step;
      filter();
      links()[before].focus({ preventScroll: true });
    });
    let waiting = 0;
    let noting = 0;
    form.addEventListener("input", () => {
      shown = step;
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(filter);
      clearTimeout(noting);
      noting = setTimeout(remember, 150); // browsers refuse an address that changes with every letter
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(() => { shown = step; filter(); remember(); }));
    addEventListener("hashchange", recall);
    one(".skip").addEventListener("click", (event) => { event.preventDefault(); one("main").focus(); }); // the address stays
    addEventListener("beforeprint", () => { paper = true; filter(); });
    addEventListener("afterprint", () => { paper = false; filter(); });
    form.hidden = false;
    recall();
    table.classList.add("ready");
    if (new URLSearchParams(location.search).has("find")) search.focus();
  }

  // Keys. They can be switched off, as somebody who speaks to the browser or rests a hand on the keys may need.
  const OFF = "mmerg-keys-off";
  let here = false; // for this page alone, where nothing may be stored
  const off = () => { try { return localStorage.getItem(OFF) === "1"; } catch { return here; } };
  const turn = (wanted) => { here = wanted; try { localStorage.setItem(OFF, wanted ? "1" : "0"); } catch { /* here */ } };
  const list = [
    ["j", "next sample, or row"], ["k", "previous sample, or row"], ["c", "next sample of which a later pass was chosen"], ["f", "next failed sample"],
    ["s", "the samples of this run"], ["u", "up: from a sample to its table, from there to the run"],
    ["/", "search the samples"], ["?", "this list"],
  ];
  const keys = make("dl", { className: "keylist" });
  for (const [key, told] of list) keys.append(make("dt", {}, make("kbd", { textContent: key })), make("dd", { textContent: told }));
  const box = make("input", { type: "checkbox" });
  const help = make("dialog", {},
    make("h2", { textContent: "Keys", id: "keys-title" }), keys,
    make("label", { className: "toggle" }, box, "Keys are on"),
    make("button", { type: "button", className: "close", textContent: "Close", onclick: () => help.close() }));
  help.setAttribute("aria-labelledby", "keys-title");
  document.body.append(help);
  const opener = one("button.keys");
  const state = () => { // it may have been changed on another page
    box.checked = !off();
    opener.replaceChildren(...(off() ? ["Keys off"] : ["Keys ", make("kbd", { textContent: "?" })]));
  };
  const open = () => { state(); help.showModal(); };
  box.addEventListener("change", () => { turn(!box.checked); state(); });
  opener.addEventListener("click", open);
  for (const name of ["pageshow", "storage"]) addEventListener(name, state);
  state();
  opener.hidden = false;

  const move = (by) => {
    const links = all("#samples tbody tr:not([hidden]) th a");
    const at = links.indexOf(document.activeElement);
    const wanted = one("button.more:not([hidden])");
    if (by > 0 && at === links.length - 1 && wanted) { wanted.click(); return; }
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
    if (off()) return;
    if (event.key === "?") { event.preventDefault(); open(); return; }
    if (event.key === "/") { event.preventDefault(); search(); return; }
    const link = /^[a-z]$/.test(event.key) && one(`a[data-key~="${event.key}"]`);
    if (link) link.click();
    else if (table && (event.key === "j" || event.key === "k")) move(event.key === "j" ? 1 : -1);
  });
});
