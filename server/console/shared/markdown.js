// Markdown as elements: marked reads it, and only text nodes and a few tags are made of it, so nothing
// that a model writes is ever HTML.

import { element, visible } from "./elements.js";
import { lexer } from "../vendor/marked.esm.js";

const SAFE = /^(https?:|mailto:)/i;
const PLAIN = { strong: "strong", em: "em", del: "del", blockquote: "blockquote", paragraph: "p" };

// what is longer is shown as it is: to read it as Markdown would stop the page
const MAX_LENGTH = 200_000;

export function markdown(text) {
  const shown = visible(text.trim());
  try {
    if (shown.length <= MAX_LENGTH) {
      const node = element("div", { className: "markdown" });
      node.append(...made(lexer(shown, { gfm: true, breaks: true })));
      return node;
    }
  } catch (error) {
    // nested deeper than can be read
    console.warn(error);
  }
  return element("div", { className: "markdown plain" }, shown);
}

const made = (tokens) => (tokens ?? []).flatMap(one);

function one(token) {
  const inner = () => (token.tokens ? made(token.tokens) : [token.text ?? token.raw]);
  if (token.type in PLAIN) return element(PLAIN[token.type], {}, ...inner());
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading":
      // the page has its own headings above these
      return element(`h${Math.min(6, token.depth + 2)}`, {}, ...inner());
    case "code":
      return element("pre", {}, element("code", {}, token.text));
    case "codespan":
      return element("code", {}, token.text);
    case "br":
      return element("br");
    case "hr":
      return element("hr");
    case "list":
      return element(token.ordered ? "ol" : "ul", token.ordered ? { start: token.start || 1 } : {}, ...token.items.map(item));
    case "table":
      return table(token);
    case "link":
      return SAFE.test(token.href)
        ? element("a", { href: token.href, target: "_blank", rel: "noopener noreferrer" }, ...inner())
        : [token.raw];
    case "checkbox":
      return element("input", { type: "checkbox", checked: token.checked, disabled: true });
    case "escape":
      return [token.text];
    case "text":
      return inner();
    default:
      // HTML and images too: as they were written
      return [token.raw];
  }
}

const item = (token) => element("li", {}, ...made(token.tokens));

function table({ header, rows }) {
  const row = (tag, cells) => element("tr", {}, ...cells.map((cell) => element(tag, {}, ...made(cell.tokens))));
  const head = element("thead", {}, row("th", header));
  const body = element("tbody", {}, ...rows.map((cells) => row("td", cells)));
  return element("div", { className: "wide", tabIndex: 0 }, element("table", {}, head, body));
}
