// What was served since when, by whom and why; what differs since then, and the way back.

import { get, post } from "../api.js";
import { kept } from "../opened.js";
import { button, cards, clock, element, visible } from "../page.js";
import { t } from "../words.js";

const LIMIT = 50;

export async function revisionsPage({ signal, title }) {
  title(t("Revisions"));
  const { revisions, next } = await get(`/revisions?limit=${LIMIT}`, { signal });
  const place = element("section", { ariaLive: "polite", ariaLabel: t("What differs") });
  const wrong = (error) => place.replaceChildren(element("p", { className: "error", role: "alert" }, error.message));
  const open = (one) => diffOf(one, signal).then((node) => place.replaceChildren(node), wrong);
  const body = element("tbody", {}, ...revisions.map((one) => row(one, open)));
  const head = [t("number"), t("since"), t("by"), t("runs"), t("warnings"), ""].map((word) => element("th", { scope: "col" }, word));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), body);
  const wanted = new URLSearchParams(location.search).get("r");
  const named = revisions.find((one) => [String(one.number), one.hash].includes(wanted));
  const current = revisions.find((one) => one.current);
  // one that is older than those of the list, or a beginning of its hash, is found by the server
  const chosen = named ?? (wanted && { number: wanted, current: false });
  if (chosen?.current) changeOf(chosen, revisions, signal).then((node) => place.replaceChildren(...node), wrong);
  else if (chosen && wanted !== current?.hash) open(chosen);
  return element("div", { className: "revisions" }, cards(table), ...older(next, body, open, signal), place);
}

// rows behind those that are shown
function older(next, body, open, signal) {
  if (!next) return [];
  let after = next;
  const more = button(t("Older"), async () => {
    const found = await get(`/revisions?${new URLSearchParams({ limit: LIMIT, after })}`, { signal });
    body.append(...found.revisions.map((one) => row(one, open)));
    after = found.next;
    more.hidden = !after;
  });
  return [more];
}

// what the one that is served has changed: there is no way back to it
async function changeOf(one, revisions, signal) {
  const before = revisions[revisions.indexOf(one) + 1];
  if (!before) return [];
  const found = await get(`/revisions/${before.number}/diff?to=${one.number}`, { signal });
  return [element("div", { className: "card" }, element("h2", {}, `${t("This revision is served; it took the place of")} ${before.number}`), ...differences(found))];
}

function row(one, open) {
  const look = button(t("What differs"), () => {
    history.replaceState(history.state, "", `/revisions?r=${one.number}`);
    return open(one);
  }, { ariaLabel: `${t("What differs")}: ${one.number}` });
  const name = [String(one.number), " ", element("code", {}, one.hash.slice(0, 8)), ...(one.current ? [" ", element("span", { className: "chip completed" }, t("is served"))] : [])];
  const who = [t(one.source), one.by ? ` ${visible(one.by)}` : "", ...(one.why ? [element("small", {}, visible(one.why))] : [])];
  const cells = [element("td", {}, ...name), element("td", {}, clock(one.loaded_at)), element("td", {}, ...who), element("td", {}, one.runs.live ? `${one.runs.total}, ${one.runs.live} ${t("at work or paused")}` : String(one.runs.total)), element("td", {}, String(one.warnings)), element("td", {}, ...(one.current ? [] : [look]))];
  return element("tr", {}, ...cells);
}

async function diffOf(one, signal) {
  const found = await get(`/revisions/${encodeURIComponent(one.number)}/diff`, { signal });
  const { from, to } = found;
  return element("div", { className: "card" }, element("h2", {}, `${t("From")} ${from.number} ${t("to what is served now")}`), ...differences(found), back(from, to));
}

function differences(found) {
  const lines = found.diff.map((each) => element("li", { className: each.more ? "warning" : "" }, `${each.more ? "⚠ " : ""}${visible(each.text)} `, element("code", {}, visible([each.source_then, each.source_now].filter(Boolean).join(" → ")))));
  const files = found.files.map((each) => kept(each.path.replaceAll(",", "_"), element("details", {}, element("summary", {}, visible(each.path)), element("pre", { tabIndex: 0 }, visible(each.diff)))));
  const none = lines.length || files.length ? [] : [element("p", {}, t("Nothing differs."))];
  return [element("ul", {}, ...lines), ...none, ...files];
}

// writes files on the server: why is asked, and kept; nothing that was saved since is undone unseen
function back(one, base) {
  const why = element("input", { required: true, minLength: 3, maxLength: 500, placeholder: t("Why?"), ariaLabel: t("Why?") });
  const act = button(t("Go back to it"), async () => {
    if (!why.reportValidity()) return;
    const answer = await post(`/revisions/${one.number}/rollback`, { reason: why.value, base: base.hash });
    const { number } = await answer.json();
    location.assign(`/revisions?r=${number}`);
  }, { className: "main" });
  const form = element("form", { className: "buttons" }, why, act);
  form.onsubmit = (event) => {
    event.preventDefault();
    act.click();
  };
  return form;
}
