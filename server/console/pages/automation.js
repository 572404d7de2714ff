// What starts runs by itself, and what was started last.

import { get } from "../api.js";
import { chip, clock, element, link, visible } from "../page.js";
import { t } from "../words.js";

export async function automationPage({ signal, title, crew }) {
  title(t("Automation"));
  const [{ schedules }, { hooks }] = await Promise.all([get("/schedules", { signal }), get("/hooks", { signal })]);
  const channels = Object.entries(crew.notify ?? {});
  return element(
    "div",
    { className: "automation" },
    ...section(t("Schedules"), schedules.map(scheduleCard), t("crew.yaml has no schedules.")),
    ...section(t("Hooks"), hooks.map(hookCard), t("crew.yaml has no hooks.")),
    ...section(t("Channels"), channels.map(([name, { kind, on }]) => card(name, `${kind}: ${on.join(", ")}`)), t("crew.yaml has no channels.")),
  );
}

const section = (name, cards, none) => [element("h2", {}, name), ...(cards.length ? cards : [element("p", { className: "small" }, none)])];

function card(name, about, ...more) {
  return element("section", { className: "card", ariaLabel: name }, element("h3", {}, visible(name)), element("p", { className: "small" }, visible(about)), ...more);
}

function scheduleCard(one) {
  const next = element("p", {}, `${t("next")}: `, ...one.next.flatMap((time, place) => [place ? ", " : "", clock(time)]));
  return card(one.name, `${one.cron} · ${one.time_zone}`, element("p", {}, visible(one.query)), next, ...recent(one.recent));
}

function hookCard(one) {
  return card(one.name, one.path, ...recent(one.recent));
}

function recent(runs) {
  if (!runs.length) return [element("p", { className: "small" }, t("It has started no run that is kept."))];
  return [element("ol", { className: "recent", ariaLabel: t("Last runs") }, ...runs.map((run) => element("li", {}, chip(run.status), " ", link(`/runs/${run.run_id}`, clock(run.started_at)))))];
}
