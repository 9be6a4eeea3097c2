/** Converts Markdown, as models write it, to elements. HTML in it stays text. */

import { make, printable } from "./dom.js";

const INLINE_PATTERNS = [
  /(`+)(.+?)\1/, // code
  /\*\*(.+?)\*\*|__(.+?)__/, // strong emphasis
  /(?<![\w*])\*(?!\s)(.+?)(?<!\s)\*(?![\w*])|(?<!\w)_(?!\s)(.+?)(?<!\s)_(?!\w)/, // emphasis
  /\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/, // a link
];
const INLINE = new RegExp(INLINE_PATTERNS.map(({ source }) => source).join("|"), "su");
const ITEM = /^\s*(?:[-*+]|(\d{1,3})[.)])\s+(.*)$/;
const HEADING = /^\s*#{1,6}\s/;
const QUOTE = /^\s*>/;
const FENCE = /^\s*```/;

/** Converts text with emphasis, code and links to nodes. */
function parseInline(text) {
  const nodes = [];
  for (let rest = text; rest;) {
    const match = INLINE.exec(rest);
    if (!match) return [...nodes, rest];
    const [all, , code, strong, strong2, emphasis, emphasis2, label, href] = match;
    if (match.index) nodes.push(rest.slice(0, match.index));
    if (code !== undefined) nodes.push(make("code", {}, code));
    else if (strong ?? strong2) nodes.push(make("strong", {}, ...parseInline(strong ?? strong2)));
    else if (emphasis ?? emphasis2) nodes.push(make("em", {}, ...parseInline(emphasis ?? emphasis2)));
    else nodes.push(make("a", { href, target: "_blank", rel: "noopener noreferrer" }, label));
    rest = rest.slice(match.index + all.length);
  }
  return nodes;
}

const joinLines = (lines) => lines.flatMap((line, index) => [...(index ? [make("br")] : []), ...parseInline(line)]);

/** Converts a text to block elements. */
export function renderMarkdown(value) {
  const blocks = [];
  const rest = printable(value).split("\n");
  const add = (tag, children, properties = {}) => blocks.push(make(tag, { dir: "auto", ...properties }, ...children));
  const takeWhile = (fits) => {
    const lines = [];
    while (rest.length && fits(rest[0])) lines.push(rest.shift());
    return lines;
  };
  while (rest.length) {
    const [line] = rest;
    if (!line.trim()) {
      rest.shift();
    } else if (FENCE.test(line)) {
      rest.shift();
      const code = takeWhile((text) => !/^\s*```\s*$/.test(text));
      rest.shift();
      add("pre", [make("code", {}, code.join("\n"))], { tabIndex: 0 });
    } else if (HEADING.test(line)) {
      const text = rest.shift().replace(/^\s*#+\s+/, "").replace(/\s+#+$/, "");
      add("p", [make("strong", {}, ...parseInline(text))]);
    } else if (QUOTE.test(line)) {
      const lines = takeWhile((text) => QUOTE.test(text));
      add("blockquote", joinLines(lines.map((text) => text.replace(/^\s*>\s?/, ""))));
    } else if (ITEM.test(line)) {
      const start = Number(ITEM.exec(line)[1]);
      const items = takeWhile((text) => ITEM.test(text)).map((text) => parseInline(ITEM.exec(text)[2]));
      const children = items.map((nodes) => make("li", { dir: "auto" }, ...nodes));
      blocks.push(Number.isNaN(start) ? make("ul", {}, children) : make("ol", { start }, children));
    } else {
      const continues = (text) => text.trim() && ![ITEM, FENCE, QUOTE, HEADING].some((block) => block.test(text));
      add("p", joinLines([rest.shift(), ...takeWhile(continues)]));
    }
  }
  return blocks;
}
