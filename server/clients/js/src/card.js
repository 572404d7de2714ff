// What a pause asks about calls, forms and budgets, and how a person decides: every argument is shown.

import { AskedCall } from "../../../console/shared/asked.js";
import { element, visible } from "../../../console/shared/elements.js";
import { parse } from "./client.js";

// `waiting`: the metadata of a `pause` event; `send`: sends decisions
export function card(waiting, words, send) {
  const calls = waiting.calls.map((asked) => new Asked(asked, waiting, words));
  const wrong = element("p", { className: "bad" });
  wrong.setAttribute("role", "alert");
  const act = (text, decide, properties = {}) => {
    const made = element("button", { type: "button", ...properties }, text);
    made.onclick = async () => {
      wrong.textContent = "";
      buttons.forEach((one) => (one.disabled = true));
      try {
        await send(decide());
      } catch (error) {
        wrong.textContent = error.message;
      } finally {
        buttons.forEach((one) => (one.disabled = false));
      }
    };
    return made;
  };
  let buttons;
  if (calls.length > 1) {
    for (const one of calls) one.node.append(one.choices("card", (decision) => one.named(decision)));
    buttons = [act(words.send, () => calls.map((one) => one.decided(one.chosen())), { className: "main" })];
  } else {
    const [one] = calls;
    buttons = one.may.map((decision, place) => act(one.named(decision), () => [one.decided(decision)], { className: place ? "" : "main", name: decision }));
  }
  const node = element("section", { className: "card" }, ...calls.map((one) => one.node), element("div", { className: "buttons" }, ...buttons), wrong);
  node.part = "card";
  return node;
}

class Asked extends AskedCall {
  constructor(asked, waiting, words) {
    super(asked, waiting, words, parse);
    const { question, budget, restored } = waiting;
    this.question = question;
    this.node = element("div", { className: "form" });
    const isCall = !budget && !restored;
    if (isCall) this.node.append(element("h3", {}, visible(asked.tool)));
    if (question === "unknown_outcome") this.node.append(element("p", { className: "warn" }, words.unknown));
    if (restored) this.node.append(element("p", {}, visible(restored.text)));
    if (asked.untrusted) this.node.append(element("p", { className: "warn" }, `${words.untrusted} ${visible(asked.untrusted.join(", "))}`));
    if (isCall) this.node.append(this.labelled(element("pre", { tabIndex: 0 }, this.given), words.arguments));
    if (asked.where) this.node.append(element("pre", {}, visible(asked.where)));
    if (asked.may.includes("edit") && isCall) this.node.append(this.editor());
    if (this.form) this.node.append(this.form.node);
    // for all runs is more than one person may say here
    this.node.append(...this.remembering({ run: words.run }));
    const prompt = this.may.includes("done") ? words.result : words.reason;
    this.said = this.labelled(element("input", { type: "text", placeholder: prompt }), prompt);
    this.node.append(this.said);
  }

  named(decision) {
    if (this.question === "restored") return decision === "approve" ? this.words.goOn : this.words.end;
    if (this.question === "form" && decision === "approve") return this.words.send;
    return this.words[decision === "retry" ? "retryCall" : decision];
  }
}
