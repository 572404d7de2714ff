// The crew's files, changed in the browser: checked as one types, with what would differ, the graph, the
// rehearsals; written as one revision. What is not written yet stays in this browser.

import { call, get, parse } from "../api.js";
import { Graph } from "../drawn/graph.js";
import { button, element, leftOut, link, visible } from "../page.js";
import { merged } from "../shared/merge.js";
import { t } from "../words.js";

const QUIET_MILLIS = 150;
// each draft by the revision that it was made from
const KEY = "crew.draft.";
const NEW_AGENT = (id) => `id: ${id}\nname: ${id}\nrole: ${id}\nsystem_prompt: |\n  You are {{name}}, {{role}}.\n`;
const AGENT = /^[A-Za-z0-9_-]{1,64}$/;

export async function editPage({ signal, title, go }) {
  title(t("Edit"));
  let found;
  try {
    found = await get("/files", { signal });
  } catch (error) {
    if (error.status !== 403) throw error;
    return element("div", {}, element("p", { className: "warning" }, visible(error.message)), ...(error.code === "editing-off" ? [element("p", {}, t("Start the server with CREW_EDIT=1 to edit the files here; with CREW_EDIT=all also what lets it do more."))] : []));
  }
  const { Editor } = await import("../editor.js");
  const page = new EditPage(found, signal, go, Editor);
  await page.open();
  return page.node;
}

const send = async (method, path, body, signal) => {
  const headers = { "Content-Type": "application/json" };
  return parse(await (await call(path, { method, headers, body: JSON.stringify(body), signal })).text());
};

class EditPage {
  constructor({ base, writable, reason, files }, signal, go, Editor) {
    Object.assign(this, { base, writable, reason, signal, go, checks: 0 });
    this.served = new Map(files.map(({ path, text }) => [path, text]));
    this.texts = new Map(this.served);
    this.problems = [];
    this.fixes = [];
    this.node = element("div", { className: "edit-page" });
    this.alert = element("div", { role: "alert" });
    this.told = element("div", { role: "alert" });
    this.tree = element("ul", { className: "files" });
    this.state = element("p", { className: "small", role: "status" });
    this.found = element("ol", { className: "problems", ariaLabel: t("Problems") });
    this.named = element("ol", { className: "problems", ariaLabel: t("Where it is named"), hidden: true });
    this.differs = element("ul", { className: "differs" });
    this.graph = new Graph();
    this.played = element("div", { className: "rehearsals", ariaLive: "polite" });
    this.why = element("input", { minLength: 3, maxLength: 500, placeholder: t("Why?"), ariaLabel: t("Why?"), required: true });
    this.editor = new Editor({
      changed: (text) => this.change(text),
      offers: (line, column) => this.at("completion", line, column).then(({ offers }) => offers),
      hover: (line, column) => this.at("hover", line, column).then(({ text }) => text),
      keys: { F12: () => this.tried(() => this.define()), "Shift-F12": () => this.tried(() => this.refer()), F2: () => this.tried(() => this.rename()) },
      readOnly: !writable,
    });
  }

  async open() {
    const kept = drafts();
    const own = kept.find(({ base }) => base === this.base);
    if (own) this.take(own);
    const earlier = kept.find(({ base }) => base !== this.base);
    if (earlier) this.offerDraft(earlier);
    if (!this.writable) this.say(`${t("The files cannot be written here.")} ${visible(this.reason)}`, "warning");
    const wanted = new URLSearchParams(location.search).get("file");
    if (wanted && !this.texts.has(wanted)) this.alert.append(...leftOut([`file=${wanted}`]));
    this.show([wanted, "crew.yaml"].find((path) => this.texts.has(path)) ?? [...this.texts.keys()][0]);
    const save = button(t("Save as a revision"), () => this.save(), { className: "main" });
    save.disabled = !this.writable;
    const fix = button(t("Mend what is certain"), () => this.mend());
    const drop = button(t("Drop my changes"), () => this.drop());
    const add = button(t("New agent"), () => this.add());
    const remove = button(t("Delete this file"), () => this.remove());
    const define = button(t("Where it is made"), () => this.define(), { title: "F12" });
    const refer = button(t("Where it is named"), () => this.refer(), { title: "Shift+F12" });
    const rename = button(t("Another name"), () => this.rename(), { title: "F2" });
    const play = button(t("Play the rehearsals"), () => this.play());
    const bar = element("form", { className: "buttons", onsubmit: () => false }, this.why, save, drop);
    this.node.replaceChildren(
      this.alert,
      this.told,
      element("div", { className: "edit-panes" },
        element("nav", { ariaLabel: t("Files") }, this.tree, element("div", { className: "buttons" }, add, remove)),
        element("div", { className: "edit-main" }, this.editor.node, this.state, this.named, this.found, element("div", { className: "buttons" }, fix, define, refer, rename), bar),
        element("aside", {},
          element("h2", {}, t("What differs")), this.differs, link("/revisions", t("Revisions")),
          element("h2", {}, t("Route")), this.graph.node,
          element("h2", {}, t("Rehearsals")), element("div", { className: "buttons" }, play), this.played)),
    );
    this.why.disabled = !this.writable;
    window.addEventListener("beforeunload", (event) => this.changes.length && this.why.value && event.preventDefault(), { signal: this.signal });
    this.before = new Map((await get("/graph?format=json", { signal: this.signal })).edges.map((edge) => [way(edge), edge]));
    await this.check();
  }

  // paths that differ from what is served
  get changes() {
    return [...this.texts.keys()].filter((path) => this.texts.get(path) !== this.served.get(path)).concat(this.gone);
  }

  get gone() {
    return [...this.served.keys()].filter((path) => !this.texts.has(path));
  }

  // what a request says of the draft
  get body() {
    const files = Object.fromEntries([...this.texts].filter(([path, text]) => this.served.get(path) !== text));
    return { files, delete: this.gone };
  }

  say(text, kind = "error") {
    this.told.replaceChildren(element("p", { className: kind }, text));
  }

  take({ files, gone }) {
    for (const [path, text] of Object.entries(files)) this.texts.set(path, text);
    for (const path of gone) this.texts.delete(path);
  }

  // the changes of a draft, within what others have saved since; files in which both have changed the same
  takeWithin({ files, gone, from = {} }) {
    const both = [];
    for (const [path, text] of Object.entries(files)) {
      // as it is served, with what is written on this page already
      const now = this.texts.get(path);
      // a draft of an earlier version does not say what it was made from
      const { text: whole, conflicts } = now === undefined || typeof from[path] !== "string" ? { text, conflicts: 0 } : merged(text, from[path], now);
      this.texts.set(path, whole);
      if (conflicts) both.push(path);
    }
    for (const path of gone) {
      if (!(path in from) || from[path] === this.texts.get(path)) this.texts.delete(path);
      else both.push(path);
    }
    return both;
  }

  // a draft of files that are not served any more
  offerDraft(kept) {
    const names = [...Object.keys(kept.files), ...kept.gone].join(", ");
    const keep = button(t("Take it up"), () => {
      const both = this.takeWithin(kept);
      localStorage.removeItem(KEY + kept.base);
      this.keep();
      this.alert.replaceChildren();
      if (both.length) this.say(`${t("Others have changed the same lines. Choose between the marks")}: ${visible(both.join(", "))}`, "warning");
      this.show(both.find((path) => this.texts.has(path)) ?? this.path);
      return this.check();
    });
    const drop = button(t("Drop my changes"), () => {
      localStorage.removeItem(KEY + kept.base);
      this.alert.replaceChildren();
    });
    this.alert.replaceChildren(element("p", { className: "warning" }, `${t("This browser has changes to an earlier revision")} (${kept.base}): ${visible(names)}`), element("div", { className: "buttons" }, keep, drop));
  }

  show(path) {
    this.path = path;
    if (!this.signal.aborted) history.replaceState(history.state, "", `/edit?${new URLSearchParams({ file: path })}`);
    this.editor.show(path, this.texts.get(path) ?? "");
    this.mark();
  }

  mark() {
    const errors = (path) => this.problems.filter((one) => one.file === path).length;
    const rows = [...this.texts.keys()].sort(order).map((path) => {
      const marks = [this.texts.get(path) !== this.served.get(path) && "•", errors(path) && `${errors(path)} !`].filter(Boolean).join(" ");
      const open = element("button", { type: "button" }, visible(path), element("small", {}, marks && ` ${marks}`));
      if (path === this.path) open.setAttribute("aria-current", "true");
      open.onclick = () => this.show(path);
      return element("li", {}, open);
    });
    this.tree.replaceChildren(...rows);
    this.editor.mark(this.problems.filter((one) => one.file === this.path));
    const errorCount = this.problems.filter((one) => one.severity === "error").length;
    const counts = `${errorCount} ${t("errors")}, ${this.problems.length - errorCount} ${t("warnings")}`;
    this.state.textContent = `${counts} · ${this.changes.length ? `${t("changed")}: ${this.changes.join(", ")}` : t("as it is served")}`;
    this.found.replaceChildren(...this.problems.map((one) => this.problem(one)));
  }

  problem({ file, line, column, severity, code, message, suggestion }) {
    const place = this.placeOf(file, line, column);
    const help = suggestion ? ` ${t("did you mean")} '${visible(suggestion)}'?` : "";
    return element("li", { className: severity }, place, ` ${visible(message)}${help} `, element("code", {}, code));
  }

  placeOf(file, line, column) {
    const place = element("button", { type: "button" }, `${file}:${line}:${column}`);
    place.onclick = () => this.goTo(file, line, column);
    return place;
  }

  goTo(file, line, column) {
    if (this.texts.has(file) && file !== this.path) this.show(file);
    if (file === this.path) this.editor.goTo(line, column);
  }

  // by a key: what a button says of an error
  tried(act) {
    act().catch((error) => this.say(error.message));
  }

  // of the name at the cursor
  async names() {
    const found = await this.at("names", ...this.editor.place);
    if (found.name === null) throw new Error(t("Nothing is named here."));
    return found;
  }

  async define() {
    const made = (await this.names()).places.find((one) => one.is_made);
    if (!made) throw new Error(t("Nothing is named here."));
    this.goTo(made.path, made.line, made.column);
  }

  async refer() {
    const { name, places } = await this.names();
    const rows = places.map(({ path, line, column }) => element("li", {}, this.placeOf(path, line, column)));
    this.named.hidden = false;
    this.named.replaceChildren(element("li", {}, element("b", {}, visible(name))), ...rows);
  }

  async rename() {
    const [place, { name }] = [this.editor.place, await this.names()];
    const wanted = prompt(t("Another name"), name)?.trim();
    if (!wanted || wanted === name) return;
    const { files, delete: gone } = await this.at("rename", ...place, { name: wanted });
    // an agent's file has its name
    const moved = files.find(({ path }) => !this.texts.has(path))?.path;
    for (const path of gone) this.texts.delete(path);
    for (const { path, text } of files) this.texts.set(path, text);
    this.named.hidden = true;
    this.keep();
    this.show(this.texts.has(this.path) ? this.path : moved);
    await this.check();
  }

  change(text) {
    this.texts.set(this.path, text);
    // they are of the text before
    this.fixes = [];
    this.keep();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check().catch((error) => this.say(error.message)), QUIET_MILLIS);
  }

  // for the next time that this page is opened in this browser
  keep() {
    const { files, delete: gone } = this.body;
    if (!this.changes.length) localStorage.removeItem(KEY + this.base);
    else {
      const from = Object.fromEntries([...Object.keys(files), ...gone].map((path) => [path, this.served.get(path) ?? null]));
      localStorage.setItem(KEY + this.base, JSON.stringify({ base: this.base, files, gone, from }));
    }
  }

  async check() {
    const turn = (this.checks += 1);
    const found = await send("POST", "/files/check", this.body, this.signal);
    // an answer to what was written before is late
    if (turn !== this.checks) return;
    this.problems = found.problems;
    this.fixes = found.fixes;
    const refused = new Set(found.refused.map(({ text }) => text));
    const lines = found.diff.map((one) => element("li", { className: refused.has(one.text) ? "error" : one.more ? "warning" : "" }, `${one.more ? "⚠ " : ""}${visible(one.text)}${refused.has(one.text) ? ` (${t("not allowed here")})` : ""}`));
    const none = this.changes.length && found.problems.some(({ severity }) => severity === "error") ? "It is shown once there are no errors." : "Nothing differs.";
    this.differs.replaceChildren(...(lines.length ? lines : [element("li", {}, t(none))]));
    if (found.graph) this.draw(found.graph);
    this.mark();
  }

  // what is new is lit, and what is removed is still there, struck out
  draw(graph) {
    const now = new Map(graph.edges.map((edge) => [way(edge), edge]));
    const removed = [...this.before].filter(([one]) => !now.has(one));
    const added = [...now.keys()].filter((one) => !this.before.has(one));
    const groups = graph.nodes.filter(({ kind }) => kind === "group");
    this.graph.crew = {
      agents: graph.nodes.filter(({ kind }) => kind === "agent").map(({ id }) => ({ id, name: id })),
      groups: Object.fromEntries(groups.map(({ id, agents }) => [id, { agents: agents ?? [] }])),
      routing: [...graph.edges, ...removed.map(([, edge]) => edge)],
    };
    this.graph.changed = new Map([...added.map((one) => [one, "added"]), ...removed.map(([one]) => [one, "removed"])]);
    this.graph.draw();
  }

  at(what, line, column, more = {}) {
    return send("POST", `/files/${what}`, { ...more, ...this.body, files: { ...this.body.files, [this.path]: this.texts.get(this.path) }, path: this.path, line, column }, this.signal);
  }

  async play() {
    this.played.replaceChildren(element("p", {}, t("They are played…")));
    try {
      const { passed, failed, skipped, failures } = await send("POST", "/files/rehearsals", this.body, this.signal);
      const wrong = failures.map((id) => element("p", { className: "error" }, visible(id)));
      this.played.replaceChildren(element("p", {}, `${passed} ${t("passed")}, ${failed} ${t("failed")}, ${skipped} ${t("skipped")}`), ...wrong);
    } catch (error) {
      this.played.replaceChildren(element("p", { className: "error" }, visible(error.message)));
    }
  }

  async save() {
    if (!this.why.reportValidity()) return;
    if (!this.changes.length) throw new Error(t("Nothing differs."));
    const sent = JSON.stringify(this.body);
    const { number } = await send("PUT", "/files", { base: this.base, why: this.why.value, ...this.body }, this.signal).catch((error) => {
      // what is written here is offered again there
      if (error.status === 409) this.alert.replaceChildren(element("div", { className: "buttons" }, button(t("Load what is served now"), () => location.reload())));
      throw error;
    });
    // what was typed meanwhile stays, as a draft of the revision before
    if (JSON.stringify(this.body) === sent) localStorage.removeItem(KEY + this.base);
    this.go(`/revisions?r=${number}`);
  }

  async mend() {
    for (const { path, text } of this.fixes) this.texts.set(path, text);
    this.keep();
    this.show(this.path);
    await this.check();
  }

  async drop() {
    if (this.changes.length && !confirm(t("Drop all changes that are not saved?"))) return;
    localStorage.removeItem(KEY + this.base);
    this.texts = new Map(this.served);
    this.show(this.texts.has(this.path) ? this.path : [...this.texts.keys()][0]);
    await this.check();
  }

  async add() {
    const id = prompt(t("The agent's id"))?.trim();
    if (!id) return;
    if (!AGENT.test(id)) throw new Error(t("An id has letters, digits, dashes and underscores."));
    const path = `agents/${id}.yaml`;
    if (this.texts.has(path)) throw new Error(`${path}: ${t("is there already")}`);
    this.texts.set(path, NEW_AGENT(id));
    this.keep();
    this.show(path);
    await this.check();
  }

  async remove() {
    if (!confirm(`${t("Delete this file")}: ${this.path}?`)) return;
    this.texts.delete(this.path);
    this.keep();
    this.show([...this.texts.keys()][0]);
    await this.check();
  }
}

const way = ({ from, to }) => `${from}→${to}`;

// crew.yaml first, then its neighbours, then the agents
const order = (one, other) => rank(one) - rank(other) || one.localeCompare(other);
const rank = (path) => (path.startsWith("crew.") ? 0 : path.includes("/") ? 2 : 1);

// those of this browser; what is none is left alone
function drafts() {
  return Object.keys(localStorage).filter((key) => key.startsWith(KEY)).flatMap((key) => {
    try {
      return [JSON.parse(localStorage.getItem(key))];
    } catch {
      return [];
    }
  });
}
