// What is loaded, and since when: agents, tools and what they may do, limits, providers, problems.

import { get, post } from "../api.js";
import { Graph } from "../drawn/graph.js";
import { kept } from "../opened.js";
import { button, clock, element, json, link, visible } from "../page.js";
import { t } from "../words.js";

export async function crewPage({ signal, title }) {
  title(t("Crew"));
  const crew = await get("", { signal });
  const { config } = crew;
  const graph = new Graph();
  graph.crew = crew;
  graph.draw();
  const about = element("p", {}, visible(crew.description), element("br"), element("small", {}, `${t("loaded")} `, clock(config.loaded_at), ` · ${config.revision} · `, link("/revisions", t("Revisions")), " · ", link("/edit", t("Edit")), " · ", link("/audit", t("Audit"))));
  const limits = table(Object.entries(crew.limits).map(([key, value]) => [key, typeof value === "object" ? json(value) : String(value)]));
  return element(
    "div",
    { className: "crew-page" },
    about,
    graph.node,
    ...rehearsals(graph),
    ...section("Warnings", crew.warnings.length, () => crew.warnings.map((one) => element("p", { className: "warning" }, `${one.file}:${one.line} [${one.code}] ${visible(one.message)}`))),
    ...section("Agents", crew.agents.length, () => crew.agents.map(agent)),
    element("p", {}, link("/tools", `${t("Tools")} (${crew.tools.length})`)),
    ...section("Providers", crew.providers.length, () => crew.providers.map(provider)),
    element("h2", {}, t("Limits")),
    kept("settings", element("details", {}, element("summary", {}, t("settings")), limits)),
  );
}

const AREAS = ["routes", "people", "limits", "faults"];

// what they check of the crew; what none takes is grey on the graph
function rehearsals(graph) {
  const found = element("div", { className: "rehearsals", ariaLive: "polite" });
  const play = async () => {
    found.replaceChildren(element("p", {}, t("They are played…")));
    const answer = await post("/rehearsals").finally(() => found.replaceChildren());
    show(await answer.json());
  };
  const show = ({ passed, failed, skipped, coverage, failures }, ...when) => {
    const areas = AREAS.map((area) => `${t(area)} ${coverage[area].checked}/${coverage[area].known}`);
    graph.rehearsed.clear();
    for (const { from, to, taken } of coverage.edges) graph.rehearsed.set(`${from}→${to}`, taken || Boolean(graph.rehearsed.get(`${from}→${to}`)));
    graph.draw();
    const counts = `${passed} ${t("passed")}, ${failed} ${t("failed")}, ${skipped} ${t("skipped")} · ${areas.join(", ")}`;
    const wrong = failures.map((id) => element("p", { className: "error" }, visible(id)));
    found.replaceChildren(element("p", { className: "counts" }, counts, ...when), ...wrong, ...unchecked(coverage.unchecked));
  };
  get("/rehearsals").then(({ newest: last }) => last && !found.children.length && show(last, " · ", clock(last.played_at), ` · ${t("revision")} ${last.revision.slice(0, 8)}`), () => {});
  const newest = element("p", { className: "newest" });
  get("/replays").then(({ newest: job }) => job?.summary && newest.append(`${t("Last replays")}: `, clock(job.started_at), ` ${Object.entries(job.summary.verdicts).map(([verdict, count]) => `${count} ${verdict}`).join(", ")}`), () => {});
  return [element("h2", {}, t("Rehearsals")), element("div", { className: "buttons" }, button(t("Play the rehearsals"), play)), found, newest];
}

function unchecked(units) {
  if (!units.length) return [];
  const lines = units.map(({ text, source }) => element("li", {}, visible([source, text].filter(Boolean).join(" "))));
  return [element("details", {}, element("summary", {}, `${t("never checked")} (${units.length})`), element("ul", {}, ...lines))];
}

const section = (name, count, made) => (count ? [element("h2", {}, `${t(name)} (${count})`), ...made()] : []);

function agent({ id, name, role, model, description, tools, signals, is_terminal: ends, waits_for_signal: waits }) {
  const ways = signals.map(({ signal, target }) => [signal, `→ ${target ?? t("end")}`]);
  const marks = [id, role, model, ends && t("end"), waits && t("asks before it goes on")].filter(Boolean).join(" · ");
  return kept(`agent-${id}`, element("details", {}, element("summary", {}, element("b", {}, name), element("small", {}, ` ${visible(marks)}`)),
    element("p", {}, visible(description)), element("p", {}, tools.map((one) => one.name).join(", ")), table(ways)));
}

function provider({ name, answers, reason, models }) {
  const head = element("p", { className: answers ? "" : "error" }, element("b", {}, visible(name)), ` ${t(answers ? "answers" : "does not answer")}`);
  if (reason) head.append(` (${visible(reason)})`);
  const failing = models.filter(({ last_failure: last }) => last && !last.is_over);
  const lines = failing.map(({ model, last_failure: last }) => element("p", { className: "error" }, `${visible(model)}: `, clock(last.at), ` ${visible(last.reason)}`));
  const quirks = models.flatMap(({ model, quirks: known }) => Object.entries(known).map(([key, { value, by }]) => [`${model} ${key}`, `${JSON.stringify(value)} (${t(by)})`]));
  return element("div", {}, head, ...lines, ...(quirks.length ? [table(quirks)] : []));
}

const table = (rows) => element("table", {}, ...rows.map(([key, value]) => element("tr", {}, element("th", { scope: "row" }, visible(key)), element("td", {}, visible(value)))));
