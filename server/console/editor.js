// The editor of a file: CodeMirror in a shadow tree, so that the page's policy needs no exception for its styles.

import { markdown } from "./shared/markdown.js";
import { element } from "./page.js";
import { t } from "./words.js";
import {
  Compartment, EditorState, EditorView, HighlightStyle, autocompletion, completionKeymap, defaultKeymap, drawSelection, highlightActiveLine,
  highlightSelectionMatches, history, historyKeymap, hoverTooltip, indentWithTab, keymap, lineNumbers, lintGutter, lintKeymap, searchKeymap,
  setDiagnostics, syntaxHighlighting, tags, yaml,
} from "./vendor/codemirror.esm.js";

const THEME = EditorView.theme({
  "&": { height: "100%", fontSize: "13.5px", backgroundColor: "light-dark(#ffffff, #14171a)", color: "light-dark(#1a1d21, #e6e8eb)" },
  ".cm-gutters": { backgroundColor: "light-dark(#f4f5f7, #1d2125)", color: "light-dark(#596273, #98a2b3)", border: "none" },
  ".cm-activeLine": { backgroundColor: "light-dark(#eef2ff88, #22304a55)" },
  ".cm-cursor": { borderLeftColor: "currentColor" },
  // in place of pictures, which the page's policy does not take from a style
  ".cm-lintRange": { backgroundImage: "none !important" },
  ".cm-lintRange-error": { textDecoration: "underline wavy light-dark(#b42318, #f97066)" },
  ".cm-lintRange-warning": { textDecoration: "underline wavy light-dark(#93370d, #fdb022)" },
  ".cm-lint-marker": { content: "none !important", borderRadius: "50%", height: ".7em", width: ".7em", marginTop: ".4em" },
  ".cm-lint-marker-error": { backgroundColor: "light-dark(#b42318, #f97066)" },
  ".cm-lint-marker-warning": { backgroundColor: "light-dark(#93370d, #fdb022)" },
  ".cm-tooltip": { backgroundColor: "light-dark(#ffffff, #1d2125)", color: "inherit", border: "1px solid light-dark(#d9dde3, #343a41)", maxWidth: "36rem" },
  ".cm-tooltip .markdown": { padding: ".3rem .6rem" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "light-dark(#c7d7fe, #31456b) !important" },
});

const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: "light-dark(#1d4ed8, #7aa2ff)" },
  { tag: tags.string, color: "light-dark(#04694c, #34d399)" },
  { tag: [tags.keyword, tags.labelName, tags.typeName], color: "light-dark(#93370d, #fdb022)" },
  { tag: tags.comment, color: "light-dark(#596273, #98a2b3)", fontStyle: "italic" },
]);

export class Editor {
  // `changed`: is called with the text; `offers`, `hover`: what is known at a line and a column;
  // `keys`: what keys do there
  constructor({ changed, offers, hover, keys, readOnly }) {
    this.node = element("div", { className: "editor" });
    const root = this.node.attachShadow({ mode: "open" });
    this.states = new Map(); // by path: with its own history
    this.label = new Compartment();
    const complete = async (context) => {
      const word = context.matchBefore(/[\w\-[\]${]*/);
      if (!context.explicit && (!word || word.from === word.to)) return null;
      const found = await offers(...place(context.state, context.pos)).catch(() => []);
      const options = found.map((one) => ({ label: one.label, detail: one.detail, type: one.kind === "key" ? "property" : "constant", apply: (view, _, from, to) => insert(view, one, to), info: one.documentation ? () => markdown(one.documentation) : undefined }));
      return { from: word?.from ?? context.pos, options, filter: true };
    };
    const tip = hoverTooltip(async (view, position) => {
      const text = await hover(...place(view.state, position)).catch(() => "");
      return text ? { pos: position, create: () => ({ dom: markdown(text) }) } : null;
    });
    this.extensions = [
      lineNumbers(), history(), drawSelection(), highlightActiveLine(), highlightSelectionMatches(), yaml(), syntaxHighlighting(COLOURS), lintGutter(), tip, THEME,
      autocompletion({ override: [complete] }),
      keymap.of(Object.entries(keys).map(([key, act]) => ({ key, preventDefault: true, run: () => (act(), true) }))),
      keymap.of([...completionKeymap, ...searchKeymap, ...historyKeymap, ...lintKeymap, indentWithTab, ...defaultKeymap]),
      EditorState.tabSize.of(2),
      EditorState.readOnly.of(readOnly),
      EditorView.updateListener.of((update) => update.docChanged && !this.showing && changed(update.state.doc.toString())),
      this.label.of([]),
    ];
    this.view = new EditorView({ parent: root, root });
  }

  show(path, text) {
    if (this.path !== undefined) this.states.set(this.path, this.view.state);
    const known = this.states.get(path);
    this.showing = true;
    this.path = path;
    const isSame = known?.doc.toString() === text;
    this.view.setState(isSame ? known : EditorState.create({ doc: text, extensions: this.extensions }));
    this.view.dispatch({ effects: this.label.reconfigure(EditorView.contentAttributes.of({ "aria-label": `${t("File")}: ${path}`, tabindex: "0" })) });
    this.showing = false;
  }

  // what is wrong in the file that is shown
  mark(problems) {
    const { doc } = this.view.state;
    const marks = problems.map(({ line, column, severity, code, message }) => {
      const at = doc.line(Math.min(Math.max(1, line), doc.lines));
      const from = Math.min(at.from + [...at.text].slice(0, column - 1).join("").length, at.to);
      const word = /^[^\s:,\]}]+/.exec(doc.sliceString(from, at.to));
      return { from, to: Math.min(at.to, from + (word?.[0].length ?? 1)), severity, message: `${message} [${code}]` };
    });
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }

  // where the cursor is
  get place() {
    return place(this.view.state, this.view.state.selection.main.head);
  }

  goTo(line, column) {
    const { doc } = this.view.state;
    const at = doc.line(Math.min(Math.max(1, line), doc.lines));
    const position = Math.min(at.from + column - 1, at.to);
    this.view.dispatch({ selection: { anchor: position }, scrollIntoView: true });
    this.view.focus();
  }
}

// line and column of a position, from 1, in characters
function place(state, position) {
  const line = state.doc.lineAt(position);
  return [line.number, [...line.text.slice(0, position - line.from)].length + 1];
}

// with the lines that an entry must have; the cursor comes where the first of them is filled in
function insert(view, { insert: text, shape, stops, written }, to) {
  const from = to - written.length;
  const indent = /^ */.exec(view.state.doc.lineAt(from).text)[0];
  const indented = (lines) => lines.replaceAll("\n", `\n${indent}`);
  const whole = shape ? indented(shape) : text;
  const first = shape ? indented(shape.slice(0, stops[0] ?? shape.length)) : text;
  view.dispatch({ changes: { from, to, insert: whole }, selection: { anchor: from + first.length } });
}
