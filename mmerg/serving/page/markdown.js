/** Converts Markdown, as models write it, to elements. HTML in it stays text. */

import { make, printable } from "./dom.js";

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|__(.+?)__|(?<![\w*])\*(?!\s)(.+?)(?<!\s)\*(?![\w*])|(?<!\w)_(?!\s)(.+?)(?<!\s)_(?!\w)|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/su;

/** Converts words with emphasis, code and links to nodes. */
function parseInline(words) {
  const nodes = [];
  for (let rest = words; rest;) {
    const found = INLINE.exec(rest);
    if (!found) return [...nodes, rest];
    const [all, , code, bold, bold2, slanted, slanted2, label, address] = found;
    if (found.index) nodes.push(rest.slice(0, found.index));
    if (code !== undefined) nodes.push(make("code", {}, code));
    else if (bold ?? bold2) nodes.push(make("strong", {}, ...parseInline(bold ?? bold2)));
    else if (slanted ?? slanted2) nodes.push(make("em", {}, ...parseInline(slanted ?? slanted2)));
    else nodes.push(make("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, label));
    rest = rest.slice(found.index + all.length);
  }
  return nodes;
}

const joinLines = (lines) => lines.flatMap((line, place) => (place ? [make("br"), ...parseInline(line)] : parseInline(line)));
const ITEM = /^\s*(?:[-*+]|(\d{1,3})[.)])\s+(.*)$/;

/** Converts a text to block elements. */
export function renderMarkdown(value) {
  const blocks = [];
  const rest = printable(value).split("\n");
  const takeWhile = (fits) => {
    const block = [];
    while (rest.length && fits(rest[0])) block.push(rest.shift());
    return block;
  };
  while (rest.length) {
    const [line] = rest;
    if (!line.trim()) {
      rest.shift();
    } else if (/^\s*```/.test(line)) {
      rest.shift();
      const code = takeWhile((text) => !/^\s*```\s*$/.test(text));
      rest.shift();
      blocks.push(make("pre", { dir: "auto", tabIndex: 0 }, make("code", {}, code.join("\n"))));
    } else if (/^#{1,6}\s/.test(line)) {
      blocks.push(make("p", { dir: "auto", className: "heading" }, make("strong", {}, ...parseInline(rest.shift().replace(/^#+\s+/, "").replace(/\s+#+$/, "")))));
    } else if (/^\s*>/.test(line)) {
      blocks.push(make("blockquote", { dir: "auto" }, ...joinLines(takeWhile((text) => /^\s*>/.test(text)).map((text) => text.replace(/^\s*>\s?/, "")))));
    } else if (ITEM.test(line)) {
      const ordered = ITEM.exec(line)[1];
      const items = takeWhile((text) => ITEM.test(text)).map((text) => make("li", { dir: "auto" }, ...parseInline(ITEM.exec(text)[2])));
      blocks.push(make(ordered ? "ol" : "ul", ordered ? { start: Number(ordered) } : {}, items));
    } else {
      const paragraph = [rest.shift(), ...takeWhile((text) => text.trim() && !ITEM.test(text) && !/^\s*(```|>|#{1,6}\s)/.test(text))];
      blocks.push(make("p", { dir: "auto" }, ...joinLines(paragraph)));
    }
  }
  return blocks;
}
