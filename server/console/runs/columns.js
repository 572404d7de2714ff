// What the list of runs shows of each: the columns, which a person may choose, and a row.

import { conversationPath } from "../pages/conversations.js";
import { chip, clock, element, link, seconds, spent, visible } from "../page.js";
import { named } from "../named.js";
import { t } from "../words.js";

const CHOSEN = "crew.columns";
// by name: its head, and what it shows of a run
const COLUMNS = {
  status: ["status", (run) => chip(run.status)],
  query: ["query", (run) => queryOf(run)],
  agent: ["agent", (run) => run.agent_id ?? ""],
  started: ["started", (run) => clock(run.started_at)],
  duration: ["duration", (run) => took(run)],
  tokens: ["tokens", (run) => used(run)],
  user: ["user", (run) => visible(run.user_id)],
  source: ["started by", (run) => t(run.source)],
  tools: ["Tools", (run) => run.tools.join(", ")],
  reason: ["how it ended", (run) => (run.reason ? named("reason", run.reason) : "")],
};
const USUAL = ["status", "query", "agent", "started", "duration", "tokens"];

/** The columns that are shown: of the address, else as this browser had them last. `changed()` with each change. */
export function columnsOf(changed) {
  const known = (text) => Object.keys(COLUMNS).filter((name) => text?.split(",").includes(name));
  const given = [new URLSearchParams(location.search).get("columns"), localStorage.getItem(CHOSEN)].map(known);
  const shown = new Set(given.find((names) => names.length) ?? USUAL);
  // by it a run is opened
  shown.add("query");
  const names = () => Object.keys(COLUMNS).filter((name) => shown.has(name));
  const boxes = Object.entries(COLUMNS).filter(([name]) => name !== "query").map(([name, [head]]) => {
    const box = element("input", { type: "checkbox", checked: shown.has(name), ariaLabel: `${t("Column")}: ${t(head)}` });
    box.onchange = () => {
      shown[box.checked ? "add" : "delete"](name);
      localStorage.setItem(CHOSEN, names().join());
      changed();
    };
    return element("label", {}, box, ` ${t(head)}`);
  });
  return {
    node: element("details", { className: "columns" }, element("summary", {}, t("Columns")), element("div", { className: "filters" }, ...boxes)),
    names,
    // for the address; nothing where they are the usual ones
    given: () => (names().join() === USUAL.join() ? {} : { columns: names().join() }),
    head: () => element("tr", {}, ...names().map((name) => element("th", { scope: "col", className: name }, t(COLUMNS[name][0])))),
  };
}

export function rowOf(run, names) {
  const made = element("tr", {}, ...names.map((name) => element("td", { className: name }, ...[COLUMNS[name][1](run)].flat())));
  made.dataset.run = run.run_id;
  made.dataset.shows = JSON.stringify([run, names]);
  return made;
}

const isRunning = (run) => run.status === "running";
// the row has the usage and the time of what has ended
const took = (run) => seconds(isRunning(run) ? Math.max(0, Date.now() - Date.parse(run.started_at)) / 1000 : run.duration_seconds);
const used = (run) => (isRunning(run) && !run.usage.total_tokens ? "" : spent(run.usage, run.cost));

function queryOf(run) {
  const says = run.status === "paused" ? `${t("waits")}: ${visible(run.asks || run.paused_agent_id)}` : run.status === "completed" || !run.reason ? "" : named("reason", run.reason);
  const folded = element("small", { className: "folded" }, [took(run), used(run)].filter(Boolean).join(" · "));
  return [link(`/runs/${run.run_id}`, visible(run.query.slice(0, 120))), element("small", {}, says), ...thread(run), ...origin(run), folded];
}

// runs of one conversation lead to it
function thread({ conversation_id: of, user_id: user, exchange }) {
  return of ? [element("small", {}, link(conversationPath(of, user), `${t("Conversation")}, ${exchange}.`))] : [];
}

// what nobody asked for now: a schedule, a hook, a copy of another run
function origin({ source, source_name: name }) {
  if (!name) return [];
  return [element("small", {}, `${t(source)} `, source === "fork" ? link(`/runs/${name}`, name.slice(0, 12)) : visible(name))];
}
