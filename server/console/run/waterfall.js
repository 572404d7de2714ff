// When a run did what: model calls, tools and waits as bars on one scale, with tokens and cost.

import { element, seconds, spent, visible } from "../page.js";
import { t } from "../words.js";
import { zoomOf } from "../drawn/zoom.js";

export class Waterfall {
  constructor() {
    this.rows = element("ol", { className: "waterfall", ariaLabel: t("Timeline"), tabIndex: 0 });
    const knobs = zoomOf(this.rows, (zoom) => this.rows.style.setProperty("--zoom", zoom));
    this.node = element("div", {}, element("div", { className: "buttons zoom" }, ...knobs), this.rows);
    this.clear();
  }

  clear() {
    this.rows.replaceChildren();
    this.bars = [];
    this.open = new Map(); // by what is under way: its bar
    this.lanes = new Map(); // by member of a group, or task: its rows
    this.last = 0;
    this.live = false; // whether the scale grows with the time
  }

  show({ type, agent, timestamp, metadata: data }) {
    const at = Date.parse(timestamp);
    this.last = Math.max(this.last, at);
    switch (type) {
      case "start":
        this.live = true;
        this.end("pause", at);
        break;
      case "parallel_start":
        this.lanes.clear();
        break;
      case "agent_start":
        this.begin(speaker(data), "model", agent, at, this.lane(data, agent));
        break;
      case "agent_response":
        // a step that was taken again has begun before
        if (!this.open.has(speaker(data))) this.begin(speaker(data), "model", agent, at - data.duration_seconds * 1000, this.lane(data, agent));
        this.end(speaker(data), at, spent(data.usage, data.cost));
        break;
      case "tool_start":
        this.begin(`${data.agent_id}/${data.call_id}`, "tool", visible(data.tool), at, this.lane(data, agent));
        break;
      case "tool_result":
        this.end(`${data.agent_id}/${data.call_id}`, at, data.status === "success" ? "" : data.status);
        break;
      case "pause":
        this.begin("pause", "wait", t("wait"), at);
        break;
      case "warning":
        if (data.code?.startsWith("member_")) this.end(speaker(data), at, data.code);
        break;
      case "done":
      case "error":
        this.live = false;
        for (const key of [...this.open.keys()]) if (key !== "pause") this.end(key, at);
        break;
    }
  }

  // where the rows of a member or a task stand together; those of all others stand by their time
  lane(data, agent) {
    if (!data.group) return this.rows;
    const key = speaker(data);
    if (!this.lanes.has(key)) {
      const rows = element("ol", { ariaLabel: agent });
      this.rows.append(element("li", { className: "lane" }, rows));
      this.lanes.set(key, rows);
    }
    return this.lanes.get(key);
  }

  begin(key, kind, name, from, rows = this.rows) {
    const bar = element("span", { className: `bar ${kind}` });
    const about = element("small");
    const row = element("li", {}, element("span", { className: "name" }, name), element("span", { className: "track" }, bar), about);
    rows.append(row);
    const made = { bar, about, from, to: null, waits: kind === "wait" };
    this.bars.push(made);
    this.open.set(key, made);
  }

  end(key, to, more = "") {
    const bar = this.open.get(key);
    if (!bar) return;
    this.open.delete(key);
    bar.to = to;
    bar.about.textContent = [seconds((to - bar.from) / 1000), more].filter(Boolean).join(" · ");
  }

  // the scale grows with the run, so all bars are drawn anew; that of an ended run is its own length
  draw() {
    if (!this.bars.length) return;
    const now = this.live ? Math.max(Date.now(), this.last) : this.last;
    const place = scale(this.bars, now);
    const whole = Math.max(1, place(now));
    for (const { bar, from, to } of this.bars) {
      bar.style.left = `${(100 * place(from)) / whole}%`;
      bar.style.width = `${Math.max(0.3, (100 * (place(to ?? now) - place(from))) / whole)}%`;
    }
  }
}

// From a time to its place. A wait for a person may be a thousand times as long as all else: it is shown
// as a tenth of it at most.
function scale(bars, now) {
  const begun = bars[0].from;
  const waits = bars.filter((bar) => bar.waits).map((bar) => ({ from: bar.from, long: (bar.to ?? now) - bar.from }));
  const waited = waits.reduce((sum, { long }) => sum + long, 0);
  const most = Math.max(500, (now - begun - waited) / 10);
  return (time) => {
    let at = time - begun;
    for (const { from, long } of waits) {
      const passed = Math.min(Math.max(0, time - from), long);
      if (long > most) at -= passed * (1 - most / long);
    }
    return at;
  };
}

const speaker = (data) => `${data.group}/${data.task ?? ""}/${data.agent_id}`;
