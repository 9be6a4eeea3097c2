/* Filters and sorts the table of samples, opens the call that a link names, highlights cited turns and keyframes, and
   turns pages with the arrow keys. Without this script every page has the same content. */
"use strict";

// With this class, the style sheet lays out only the first rows until the table is ready.
document.documentElement.classList.add("scripted");
addEventListener("error", () => document.documentElement.classList.remove("scripted"));

addEventListener("DOMContentLoaded", () => {
  const find = (selector, root = document) => root.querySelector(selector);
  const findAll = (selector, root = document) => Array.from(root.querySelectorAll(selector));

  /** Makes a button. Its label is text, never markup. */
  const makeButton = (label, className = "") =>
    Object.assign(document.createElement("button"), { type: "button", textContent: label, className });

  const openTarget = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();
  addEventListener("beforeprint", () => {
    for (const details of findAll("details.print-open")) details.open = true;
  });

  // Evidence and the turn or keyframe that it cites highlight each other.
  for (const link of findAll("a.citation")) {
    const ends = [link.closest("li"), document.getElementById(link.hash.slice(1))];
    const highlight = (on) => () => ends.forEach((end) => end.classList.toggle("highlighted", on));
    for (const end of ends) {
      for (const name of ["mouseenter", "focusin"]) end.addEventListener(name, highlight(true));
      for (const name of ["mouseleave", "focusout"]) end.addEventListener(name, highlight(false));
    }
  }

  addEventListener("keydown", (event) => {
    if (event.target !== document.body || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const link = { ArrowLeft: find("a[rel=prev]"), ArrowRight: find("a[rel=next]") }[event.key];
    if (link) link.click();
  });

  const table = document.getElementById("samples");
  if (!table) return;
  const form = find("form.filters");
  const body = table.tBodies[0];
  const heads = findAll("thead th", table);
  const fields = Array.from(form.elements).filter((field) => field.matches("input, select"));
  const search = form.elements.q;
  const getTexts = (selector, row) => findAll(selector, row).map((element) => element.textContent);
  const normalize = (text) => text.normalize("NFKC").toLowerCase();
  let rows = Array.from(body.rows, (row, number) => ({
    row,
    number,
    text: normalize([...getTexts("bdi, .text span", row), row.dataset.fullText || ""].join("\n")),
    blamed: getTexts(".blamed bdi", row),
    data: { ...row.dataset },
  }));
  const collator = new Intl.Collator("en");
  const pageSize = Number(table.dataset.pageSize); // browsers need seconds to lay out thousands of rows
  let shown = pageSize;
  let sorted = { by: "number", down: false };
  const more = makeButton("", "more");
  table.after(more);

  const valueOf = (field) => (field.type === "checkbox" && !field.checked ? "" : field.value);
  const matches = ({ blamed, data }, { name, value }) =>
    name === "blamed" ? blamed.includes(value) : data[name] === value;
  const isDefaultOrder = () => sorted.by === "number" && !sorted.down;

  const filter = () => {
    const words = normalize(search.value).split(/\s+/).filter(Boolean);
    const wanted = fields.filter((field) => field !== search && valueOf(field));
    let count = 0;
    for (const entry of rows) {
      const fits = wanted.every((field) => matches(entry, field)) && words.every((word) => entry.text.includes(word));
      count += fits;
      entry.row.hidden = !fits || count > shown;
    }
    more.hidden = count <= shown;
    more.textContent = `Show more: ${Math.min(shown, count)} of ${count} are shown`;
    find(".no-rows").hidden = count > 0;
    table.hidden = count === 0;
    form.elements.shown.value = `${count} of ${rows.length}`;
  };

  const sort = () => {
    const column = heads.findIndex((head) => head.dataset.sortKey === sorted.by);
    const numeric = heads[column].classList.contains("num");
    const compare = numeric ? (a, b) => Number(a) - Number(b) : (a, b) => collator.compare(a, b);
    const keyed = rows.map((entry) => ({ entry, key: entry.row.cells[column].textContent.trim() }));
    const direction = sorted.down ? -1 : 1;
    keyed.sort((a, b) => // empty cells come last in both directions
      (a.key === "") - (b.key === "") || direction * compare(a.key, b.key) || a.entry.number - b.entry.number);
    rows = keyed.map(({ entry }) => entry);
    body.append(...rows.map(({ row }) => row));
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
    filter();
  };

  // The fragment of the address holds the filters and the order, so that a view can be bookmarked and shared.
  const saveView = () => {
    const view = new URLSearchParams(fields.filter(valueOf).map((field) => [field.name, valueOf(field)]));
    if (!isDefaultOrder()) view.set("sort", `${sorted.down ? "-" : ""}${sorted.by}`);
    history.replaceState(null, "", view.size ? `#${view}` : location.pathname + location.search);
  };
  const loadView = () => {
    const view = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) {
      const wanted = view.get(field.name) || "";
      if (field.type === "checkbox") field.checked = wanted === field.value;
      else field.value = wanted;
      if (field.selectedIndex < 0) field.selectedIndex = 0;
    }
    const [, minus, by] = /^(-?)(\w+)$/.exec(view.get("sort")) || [];
    const isKey = heads.some((head) => head.dataset.sortKey === by);
    sorted = isKey ? { by, down: minus === "-" } : { by: "number", down: false };
    shown = pageSize;
    sort();
  };

  for (const head of heads) {
    const button = makeButton(head.textContent);
    button.addEventListener("click", () => {
      const by = head.dataset.sortKey;
      sorted = { by, down: sorted.by === by && !sorted.down };
      sort();
      saveView();
    });
    head.replaceChildren(button);
  }
  more.addEventListener("click", () => {
    const visibleLinks = () => findAll("tbody tr:not([hidden]) th a", table);
    const before = visibleLinks().length;
    showRows(shown + pageSize);
    visibleLinks()[before].focus({ preventScroll: true }); // the button may be hidden now
  });
  const showRows = (count) => {
    shown = count;
    filter();
  };
  let timer = 0;
  form.addEventListener("input", () => {
    showRows(pageSize);
    clearTimeout(timer);
    timer = setTimeout(saveView, 150); // browsers refuse to change the address with every letter
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => {
    showRows(pageSize);
    saveView();
  }));
  addEventListener("hashchange", loadView);
  addEventListener("beforeprint", () => showRows(Infinity)); // paper has no button for more rows
  addEventListener("afterprint", () => showRows(pageSize));
  find(".skip-link").addEventListener("click", (event) => { // without a new fragment, which would reset the view
    event.preventDefault();
    find("main").focus();
  });
  form.hidden = false;
  loadView();
  table.classList.add("ready");
});
