// Every run that waits for a person, oldest first; answered from here, with one thumb.

import { every, get } from "../api.js";
import { askingCard } from "../asking.js";
import { markdown } from "../shared/markdown.js";
import { button, choice, element, link, visible } from "../page.js";
import { t } from "../words.js";

const LOOK_MILLIS = 5000;
// how long an answered card stays at least, and how long nothing is decided behind one that went
const KEEP_MILLIS = 2000;
const SETTLE_MILLIS = 700;

export async function inboxPage({ signal, title, waiting, crew }) {
  title(t("Inbox"));
  const filters = filtersOf(crew, () => fill({ isOther: true }).catch(() => {}));
  // by run and pause: its card, so that what is being written stays, and who else looks at it
  const cards = new Map();
  const list = element("ol", { className: "inbox" });
  const none = element("p", {}, t("Nobody waits for you."));
  const more = element("p", {}, t("More runs wait; they come when some of these are answered."));
  let moved = 0; // when a card went, and those behind it came up
  list.addEventListener("click", (click) => {
    // it was meant for what stood here before
    if (Date.now() - moved > SETTLE_MILLIS || !click.target.closest("button")) return;
    click.preventDefault();
    click.stopPropagation();
  }, true);

  // a card that is answered stays as high as it is, while a finger may be on one behind it
  function end(card) {
    // who uses the keyboard goes on with the next one
    const next = card.contains(document.activeElement) ? card.nextElementSibling ?? card.previousElementSibling : null;
    card.style.minHeight = `${card.offsetHeight}px`;
    card.className = "ended";
    card.replaceChildren(card.querySelector("h2"), element("p", { role: "status" }, t("This is answered.")));
    next?.querySelector("a").focus();
    const since = Date.now();
    const timer = setInterval(() => {
      const under = list.querySelector(":scope > :hover");
      const isBehind = under && (under === card || card.compareDocumentPosition(under) & Node.DOCUMENT_POSITION_FOLLOWING);
      if (card.isConnected && (isBehind || Date.now() - since < KEEP_MILLIS)) return;
      clearInterval(timer);
      card.remove();
      moved = Date.now();
    }, SETTLE_MILLIS);
  }

  // `isOther`: other runs are wanted than before
  async function fill({ isOther = false } = {}) {
    const given = filters.given();
    const { runs, next } = await get(`/inbox?${new URLSearchParams({ ...given, limit: 100 })}`, { signal });
    const shown = runs.filter((run) => run.waiting);
    const keys = new Set(shown.map(keyOf));
    for (const [key, { card }] of cards) {
      if (!keys.has(key)) {
        if (isOther) card.remove();
        else end(card);
        cards.delete(key);
      }
    }
    for (const run of shown) {
      if (!cards.has(keyOf(run))) {
        cards.set(keyOf(run), cardOf(run, () => fill()));
        list.append(cards.get(keyOf(run)).card);
      }
      cards.get(keyOf(run)).others?.show(run.viewers);
    }
    none.hidden = shown.length > 0;
    more.hidden = next === null;
    // the number of those that wait is of all
    if (!Object.keys(given).length) waiting([...keys]);
  }
  await fill();
  every(LOOK_MILLIS, () => fill(), signal);
  return element("div", {}, filters.node, ...notifying(), none, list, more);
}

// of an agent, or about a call of a tool; the address keeps them
function filtersOf(crew, changed) {
  const fields = [
    choice("agent_id", "agent", "all agents", crew.agents.map(({ id, name }) => [id, name])),
    choice("tool", "tool", "all tools", crew.tools.map(({ tool }) => [tool, tool])),
    element("input", { name: "owner", value: new URLSearchParams(location.search).get("owner") ?? "", pattern: "[A-Za-z0-9._\\-]{1,64}", placeholder: t("owner"), ariaLabel: t("owner") }),
  ];
  const given = () => Object.fromEntries(fields.filter(({ value, validity }) => value && validity.valid).map(({ name, value }) => [name, value]));
  for (const field of fields) {
    field.onchange = () => {
      const parts = new URLSearchParams(given()).toString();
      history.replaceState(history.state, "", location.pathname + (parts && `?${parts}`));
      changed();
    };
  }
  return { node: element("form", { className: "filters", role: "search", onsubmit: () => false }, ...fields), given };
}

export const keyOf = (run) => `${run.run_id}:${run.waiting.seq}`;

// a card that cannot be shown must not keep the others from it
function cardOf(run, fill) {
  const head = element("h2", {}, link(`/runs/${run.run_id}`, visible(run.query.slice(0, 300))));
  const card = element("li", {}, head);
  try {
    if (run.answer) card.append(markdown(run.answer));
    const looks = () => card.matches(":focus-within, :hover");
    const { node, others } = askingCard(run.run_id, run.waiting, fill, { looks, viewers: run.viewers });
    card.append(node);
    return { card, others };
  } catch (error) {
    console.error(run, error);
    card.append(element("p", { className: "error" }, `${t("This cannot be shown")}: ${error.message}`));
    return { card };
  }
}

function notifying() {
  if (!("Notification" in window) || Notification.permission !== "default") return [];
  const ask = button(t("Tell me when a run waits"), async () => {
    await Notification.requestPermission();
    ask.remove();
  });
  return [ask];
}
