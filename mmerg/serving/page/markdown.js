/** Converts Markdown, as models write it, to elements. HTML in it stays text. */

import { make, shown } from "./dom.js";

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|__(.+?)__|(?<![\w*])\*(?!\s)(.+?)(?<!\s)\*(?![\w*])|(?<!\w)_(?!\s)(.+?)(?<!\s)_(?!\w)|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/su;

/** Words with emphasis, code and links, as nodes. */
function inline(words) {
  const nodes = [];
  for (let rest = words; rest;) {
    const found = INLINE.exec(rest);
    if (!found) return [...nodes, rest];
    const [all, , code, bold, bold2, slanted, slanted2, label, address] = found;
    if (found.index) nodes.push(rest.slice(0, found.index));
    if (code !== undefined) nodes.push(make("code", {}, code));
    else if (bold ?? bold2) nodes.push(make("strong", {}, ...inline(bold ?? bold2)));
    else if (slanted ?? slanted2) nodes.push(make("em", {}, ...inline(slanted ?? slanted2)));
    else nodes.push(make("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, label));
    rest = rest.slice(found.index + all.length);
  }
  return nodes;
}

const lines = (some) => some.flatMap((line, place) => (place ? [make("br"), ...inline(line)] : inline(line)));
const ITEM = /^\s*(?:[-*+]|(\d{1,3})[.)])\s+(.*)$/;

/** A text as block elements. */
export function markdown(value) {
  const blocks = [];
  const rest = shown(value).split("\n");
  const taken = (fits) => { const some = []; while (rest.length && fits(rest[0])) some.push(rest.shift()); return some; };
  while (rest.length) {
    const [line] = rest;
    if (!line.trim()) {
      rest.shift();
    } else if (/^\s*```/.test(line)) {
      rest.shift();
      const code = taken((one) => !/^\s*```\s*$/.test(one));
      rest.shift();
      blocks.push(make("pre", { dir: "auto", tabIndex: 0 }, make("code", {}, code.join("\n"))));
    } else if (/^#{1,6}\s/.test(line)) {
      blocks.push(make("p", { dir: "auto", className: "heading" }, make("strong", {}, ...inline(rest.shift().replace(/^#+\s+/, "").replace(/\s+#+$/, "")))));
    } else if (/^\s*>/.test(line)) {
      blocks.push(make("blockquote", { dir: "auto" }, ...lines(taken((one) => /^\s*>/.test(one)).map((one) => one.replace(/^\s*>\s?/, "")))));
    } else if (ITEM.test(line)) {
      const ordered = ITEM.exec(line)[1];
      const items = taken((one) => ITEM.test(one)).map((one) => make("li", { dir: "auto" }, ...inline(ITEM.exec(one)[2])));
      blocks.push(make(ordered ? "ol" : "ul", ordered ? { start: Number(ordered) } : {}, items));
    } else {
      const some = [rest.shift(), ...taken((one) => one.trim() && !ITEM.test(one) && !/^\s*(```|>|#{1,6}\s)/.test(one))];
      blocks.push(make("p", { dir: "auto" }, ...lines(some)));
    }
  }
  return blocks;
}
