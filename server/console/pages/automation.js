// What starts runs by itself, what was started last, and the channels that get news.

import { get, post } from "../api.js";
import { button, chip, clock, element, link, visible } from "../page.js";
import { named } from "../named.js";
import { t } from "../words.js";

export async function automationPage({ signal, title }) {
  title(t("Automation"));
  const page = element("div", { className: "automation" });
  const draw = async () => {
    const asked = ["/schedules", "/hooks", "/channels"].map((path) => get(path, { signal }));
    const [{ schedules }, { hooks }, { channels }] = await Promise.all(asked);
    page.replaceChildren(
      ...section(t("Schedules"), schedules.map((one) => scheduleCard(one, draw)), t("crew.yaml has no schedules.")),
      ...section(t("Hooks"), hooks.map((one) => hookCard(one)), t("crew.yaml has no hooks.")),
      ...section(t("Channels"), channels.map((one) => channelCard(one, draw)), t("crew.yaml has no channels.")),
    );
  };
  await draw();
  return page;
}

const section = (name, cards, none) => [element("h2", {}, name), ...(cards.length ? cards : [element("p", { className: "small" }, none)])];
const line = (...parts) => element("p", {}, ...parts);
const small = (...parts) => element("p", { className: "small" }, ...parts);

function card(name, about, ...more) {
  return element("section", { className: "card", ariaLabel: name }, element("h3", {}, visible(name)), small(visible(about)), ...more);
}

const act = (text, name, done) => button(text, done, { ariaLabel: `${text}: ${name}` });

// keeps the button that was pressed in focus: all of the page is drawn again
async function again(draw, label) {
  await draw();
  [...document.querySelectorAll(".automation button")].find((one) => one.ariaLabel === label)?.focus();
}

function scheduleCard(one, draw) {
  const path = `/schedules/${encodeURIComponent(one.name)}`;
  const next = line(`${t("next")}: `, ...one.next.flatMap((time, place) => [place ? ", " : "", clock(time)]));
  const paused = one.paused ? [element("p", { className: "warning" }, `${t("Paused since")} `, clock(one.paused.at), one.paused.by ? ` (${visible(one.paused.by)})` : "")] : [];
  const started = element("span", { role: "status" });
  const now = act(t("Run now"), one.name, async () => {
    const { run_id: run } = await (await post(`${path}/run`)).json();
    started.replaceChildren(" ", link(`/runs/${run}`, t("It has begun")));
  });
  const word = one.paused ? t("Let it go on") : t("Pause it");
  const pause = act(word, one.name, async () => {
    await post(`${path}/pause`, { paused: !one.paused });
    await again(draw, `${one.paused ? t("Pause it") : t("Let it go on")}: ${one.name}`);
  });
  return card(one.name, `${one.cron} · ${one.time_zone}`, line(visible(one.query)), ...paused, next, line(now, " ", pause, started), ...ended(one));
}

// what came of its last times; of what an earlier version has done, the runs alone are known
function ended(one) {
  if (!one.ended.length) return recent(one.recent);
  const states = Object.fromEntries(one.recent.map((run) => [run.run_id, run.status]));
  const items = one.ended.map((time) => {
    const state = states[time.run_id] ? [" ", chip(states[time.run_id])] : [];
    const at = time.run_id ? link(`/runs/${time.run_id}`, clock(time.due_at)) : clock(time.due_at);
    return element("li", { className: time.outcome === "missed" ? "warning" : "" }, `${t(OUTCOMES[time.outcome] ?? time.outcome)} `, at, ...state);
  });
  return [element("ol", { className: "recent", ariaLabel: t("Last times") }, ...items)];
}

const OUTCOMES = { by_hand: "by hand", started: "began", skipped: "left out", missed: "missed", paused: "left out while paused" };

function hookCard(one) {
  const refused = one.refused.map((post) => element("li", { className: "warning" }, clock(post.at), ` ${visible(post.why)}`));
  const list = refused.length ? [element("h4", {}, t("Refused")), element("ol", { className: "refused", ariaLabel: t("Refused") }, ...refused)] : [];
  return card(one.name, one.path, ...recent(one.recent), ...list, tried(one));
}

// a post by hand, with the JSON that would be sent
function tried(one) {
  const sent = element("textarea", { rows: 4, value: EXAMPLES[one.kind] ?? "{}", ariaLabel: `${t("JSON to send")}: ${one.name}` });
  const came = element("span", { role: "status" });
  const send = act(t("Send it"), one.name, async () => {
    came.replaceChildren();
    const found = await (await post(`/hooks/${encodeURIComponent(one.name)}/test`, JSON.parse(sent.value))).json();
    came.replaceChildren(" ", found.run_id ? link(`/runs/${found.run_id}`, t("It has begun")) : visible(found.ignored));
  });
  return element("details", {}, element("summary", {}, t("Send a test")), sent, line(send, came));
}

const EXAMPLES = {
  json: "{}",
  alertmanager: JSON.stringify({ status: "firing", groupKey: "test", alerts: [{ status: "firing", labels: { alertname: "Test" }, annotations: {} }] }, null, 2),
  grafana: JSON.stringify({ status: "firing", groupKey: "test", alerts: [{ status: "firing", labels: { alertname: "Test" }, annotations: {} }] }, null, 2),
};

function channelCard(one, draw) {
  const lines = [line(`${t("Sent")}: ${one.sent}`, ...(one.sent_at ? [`, ${t("last")} `, clock(one.sent_at)] : []))];
  if (one.waiting) lines.push(element("p", { className: "warning" }, `${t("Waiting")}: ${one.waiting}, ${t("since")} `, clock(one.waiting_since)));
  if (one.given_up) lines.push(element("p", { className: "warning" }, `${t("Given up")}: ${one.given_up}, ${t("last")} `, clock(one.given_up_at)));
  // what has failed before a message was sent is over
  if (one.failed_at && one.failed_at > (one.sent_at ?? "")) lines.push(element("p", { className: "error" }, clock(one.failed_at), ` ${visible(one.error ?? "")}`));
  const test = act(t("Send a test"), one.name, async () => {
    const { error } = await (await post(`/channels/${encodeURIComponent(one.name)}/test`)).json();
    if (error) throw new Error(visible(error));
    await again(draw, `${t("Send a test")}: ${one.name}`);
  });
  return card(one.name, `${one.kind}: ${one.on.map((kind) => named("news", kind)).join(", ")}`, ...lines, line(test));
}

function recent(runs) {
  if (!runs.length) return [small(t("It has started no run that is kept."))];
  return [element("ol", { className: "recent", ariaLabel: t("Last runs") }, ...runs.map((run) => element("li", {}, chip(run.status), " ", link(`/runs/${run.run_id}`, clock(run.started_at)))))];
}
