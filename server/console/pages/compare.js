// Two runs side by side, step by step.

import { get } from "../api.js";
import { kept } from "../opened.js";
import { cards, chip, clock, element, link, seconds, spent, visible } from "../page.js";
import { line } from "../named.js";
import { locale, t } from "../words.js";

const signed = (value, text) => `${value > 0 ? "+" : value < 0 ? "−" : "±"}${text(Math.abs(value))}`;

export async function comparePage({ signal, title }) {
  title(t("Compare"));
  const given = new URLSearchParams(location.search);
  const [a, b] = ["a", "b"].map((name) => element("input", { name, value: given.get(name) ?? "", required: true, maxLength: 128, placeholder: t(name === "a" ? "a run" : "another run"), ariaLabel: t(name === "a" ? "a run" : "another run") }));
  const place = element("div", { ariaLive: "polite" });

  async function fill() {
    if (!a.value || !b.value) return;
    const query = new URLSearchParams({ a: a.value.trim(), b: b.value.trim() });
    const shows = new URLSearchParams(location.search);
    // of other runs other texts were opened
    if ([...query].some(([name, value]) => shows.get(name) !== value)) history.replaceState(history.state, "", `/compare?${query}`);
    place.replaceChildren(...shown(await get(`/compare?${query}`, { signal })));
  }

  const wrong = (error) => place.replaceChildren(element("p", { className: "error", role: "alert" }, error.status === 404 ? t("This is not there.") : error.message));
  const form = element("form", { className: "filters" }, a, b, element("button", { className: "main" }, t("Compare")));
  form.onsubmit = (event) => {
    event.preventDefault();
    fill().catch(wrong);
  };
  await fill().catch(wrong);
  return element("div", { className: "compare-page" }, form, place);
}

function shown({ runs, apart, same_revision: same, first, steps }) {
  const heads = runs.map((run) => element("th", { scope: "col" }, link(`/runs/${run.run_id}`, visible(run.query.slice(0, 80))), " ", chip(run.status), element("br"), element("small", {}, clock(run.started_at), ` · ${spent(run.usage, run.cost)} · ${seconds(run.duration_seconds)}`)));
  // on a phone each step says of which run it is
  heads.forEach((head, place) => (head.dataset.label = place ? "B" : "A"));
  const number = (value) => value.toLocaleString(locale);
  const facts = [
    first !== null ? `${t("The first step that differs")}: ${first}` : t(steps.some(({ diff }) => diff) ? "No step differs, but texts do." : "No step differs."),
    `${signed(apart.tokens, number)} ${t("tokens")}, ${signed(apart.cost_usd, (usd) => `$${usd.toFixed(6)}`)}, ${signed(apart.duration_seconds, seconds)}`,
    ...(same ? [] : [t("They are of two revisions.")]),
  ];
  // the place that is marked: another step, else other words
  const marked = first ?? steps.findIndex(({ diff }) => diff) + 1;
  const body = steps.map((pair, place) => {
    const cell = (one) => element("td", {}, ...(one ? [element("span", {}, visible(line(one.what))), ...(one.source ? [" ", element("code", {}, visible(one.source))] : [])] : []));
    const diff = pair.diff ? [kept(`step-${place + 1}`, element("details", {}, element("summary", {}, t("texts differ")), element("pre", { tabIndex: 0 }, visible(pair.diff))))] : [];
    const mark = element("th", { scope: "row" }, String(place + 1), ...(place + 1 === marked ? [" ◀"] : []));
    const b = cell(pair.b);
    b.append(...diff);
    return element("tr", { className: pair.same ? "" : "differs" }, mark, cell(pair.a), b);
  });
  const table = element("table", {}, element("thead", {}, element("tr", {}, element("th"), ...heads)), element("tbody", {}, ...body));
  return [...facts.map((text) => element("p", {}, text)), cards(table)];
}
