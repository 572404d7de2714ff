// The web console: starts runs, follows them, answers their pauses; a client of the public API like any other.

import { formOf } from "./forms.js";
import { element, visible } from "./page.js";

const $ = (id) => document.getElementById(id);
const api = "/api/crew";
let current = null; // {id, status, controller}

async function call(path, options = {}) {
  const answer = await fetch(api + path, options);
  // the server asks for a token
  if (answer.status === 401) location.reload();
  if (!answer.ok) throw new Error((await answer.json()).detail);
  return answer;
}

const post = (path, body) =>
  call(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: body && JSON.stringify(body) });

function add(...children) {
  const list = $("events");
  const near = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
  list.append(element("li", {}, ...children));
  if (near) list.scrollTop = list.scrollHeight;
}

const note = (text, kind = "") => add(element("div", { className: `note ${kind}` }, text));
const speech = (name, text, mine = false) =>
  add(element("div", { className: mine ? "speech mine" : "speech" }, element("b", {}, name), text.trim()));

let writing = null; // the text node of the answer that is being written

function show(event) {
  const { type, agent, content, metadata: data } = event;
  if (type === "agent_response" && writing) {
    // the whole answer takes the place of its pieces
    writing.parentElement.closest("li").remove();
    writing = null;
  }
  switch (type) {
    case "agent_start":
      for (const item of $("agents").children) item.classList.toggle("speaking", item.dataset.id === data.agent_id);
      break;
    case "agent_delta":
      if (!writing) {
        writing = document.createTextNode("");
        add(element("div", { className: "speech" }, element("b", {}, agent), writing));
      }
      writing.data += content;
      break;
    case "agent_response":
      if (content.trim()) speech(agent, content);
      break;
    case "tool_progress":
      note(`[Tool] ${data.tool} ${data.progress}${data.total ? ` / ${data.total}` : ""} ${visible(data.message)}`);
      break;
    case "tool_result": {
      const seconds = data.duration_seconds.toFixed(2);
      const mark = data.status === "success" ? "✅" : "❌";
      const head = `${mark} [Tool] ${data.tool} (${seconds} s)`;
      add(element("details", {}, element("summary", {}, head), element("pre", {}, data.output)));
      break;
    }
    case "handoff":
      note(`↪ ${content} (${data.why}${data.signal ? ` ${data.signal}` : ""})`);
      break;
    case "parallel_start":
      note(`⑂ ${content}: ${data.agents.join(", ")}`);
      break;
    case "pause":
      if (current) Object.assign(current, { question: data.question, calls: data.calls, pause: data.seq });
      note(`⏸ ${agent} waits for your answer`, "warning");
      for (const asked of data.calls ?? []) showAsked(asked, data.form);
      break;
    case "answered":
      note(`» ${data.by ? `${data.by}: ` : ""}${visible(content)}`);
      break;
    case "gap":
      note(`… ${content}`);
      if (data.snapshot.answer) speech(data.snapshot.agent_id ?? "", data.snapshot.answer);
      break;
    case "warning":
    case "error":
      note(`${type === "error" ? "✗" : "⚠"} ${content}`, type);
      break;
    case "done":
      if (data.reason !== "paused") note(`✔ ${data.reason} after ${data.duration_seconds.toFixed(1)} s`, "done");
      setStatus(data.reason === "paused" ? "paused" : "ended");
      break;
  }
  if (type === "error") setStatus("ended");
}

// every argument of a call that a person decides on; they can be changed where the tool allows it
function showAsked(asked, form) {
  const given = JSON.stringify(asked.arguments, null, 2);
  add(element("pre", { className: "asked" }, `${asked.tool} ${visible(given)}${asked.where ? `\n${visible(asked.where)}` : ""}`));
  if (asked.may?.includes("edit")) {
    asked.input = element("textarea", { className: "arguments", value: visible(given), rows: 4 });
    asked.input.setAttribute("aria-label", `Arguments of ${asked.tool}`);
    asked.shown = asked.input.value;
    add(element("details", {}, element("summary", {}, "Change the arguments"), asked.input));
  }
  if (form) {
    asked.form = formOf(form);
    add(asked.form.node);
  }
  const later = { always: `this call of ${asked.tool} in all runs`, run: `${asked.tool} for the rest of this run` };
  asked.boxes = {};
  for (const [how, words] of Object.entries(later)) {
    if (!asked.remember?.includes(how)) continue;
    asked.boxes[how] = element("input", { type: "checkbox" });
    add(element("label", {}, asked.boxes[how], ` approve ${words}`));
  }
}

// of the calls as they are shown here, and no others
function decisionOn({ call_id, agent_id, hash, input, shown, boxes, form }, decision) {
  const made = { call_id, agent_id, hash, decision };
  if (decision === "approve" && input && input.value !== shown) {
    try {
      made.arguments = JSON.parse(input.value);
    } catch (error) {
      throw new Error(`the arguments are no JSON: ${error.message}`);
    }
  }
  if (decision === "approve" && form) made.arguments = form.read();
  if (decision === "approve") made.remember = Object.keys(boxes).find((how) => boxes[how].checked);
  return made;
}

function setStatus(status) {
  if (current) current.status = status;
  const paused = status === "paused";
  $("send").textContent = paused ? "Answer" : "Start";
  $("send").hidden = $("query").hidden = status === "running";
  const [yes, no] = { approval: ["approve", "deny"], form: ["approve", "deny"], unknown_outcome: ["retry", "skip"] }[paused && current?.question] ?? [];
  const words = current?.question === "form" ? { approve: "send the form", deny: "say no" } : {};
  for (const [id, decision] of [["yes", yes], ["no", no]]) {
    $(id).hidden = !decision;
    $(id).textContent = words[decision] ?? decision ?? "";
    $(id).onclick = async () => {
      try {
        const decisions = (current?.calls ?? []).map((asked) => decisionOn(asked, decision));
        await answer({ decisions, pause: current.pause }, decision);
      } catch (error) {
        fail(error);
      }
    };
  }
  $("stop").hidden = !["running", "paused"].includes(status);
  $("fresh").hidden = !current;
  if (status !== "running") {
    for (const item of $("agents").children) item.classList.remove("speaking");
    listRuns();
  }
}

// EventSource cannot send a token, so the stream is read with fetch; it comes back by the id of the last event.
async function follow(id, after = 0) {
  current?.controller.abort();
  const run = { id, status: "running", controller: new AbortController() };
  current = run;
  setStatus("running");
  while (run.status === "running" && current === run) {
    try {
      const options = { signal: run.controller.signal, headers: { "Last-Event-ID": `${id}:${after}` } };
      const answer = await call(`/runs/${id}/events?deltas=1`, options);
      if (answer.status === 204) {
        const { status } = await (await call(`/runs/${id}`)).json();
        return setStatus(status === "paused" ? "paused" : "ended");
      }
      for await (const block of blocks(answer.body)) {
        if (current !== run) return;
        const at = block.match(/^id: .*:(\d+)$/m);
        const data = block.match(/^data: (.*)$/m);
        if (at) after = Number(at[1]);
        // a stretch that has ended may be followed by the next one
        if (data) show(JSON.parse(data[1]));
      }
    } catch (error) {
      if (run.controller.signal.aborted) return;
      note(`⚠ ${error.message}; trying again`, "warning");
    }
    if (run.status === "running") await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

async function* blocks(body) {
  let rest = "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    yield* parts;
  }
}

async function open(id) {
  $("events").replaceChildren();
  const run = await (await call(`/runs/${id}`)).json();
  speech("You", run.query, true);
  await follow(id);
}

async function listRuns() {
  const { runs } = await (await call("/runs?limit=30")).json();
  $("runs").replaceChildren(
    ...runs.map((run) => {
      const status = element("small", { className: `status-${run.status}` }, `${run.status} · ${new Date(run.started_at).toLocaleTimeString()}`);
      const button = element("button", { type: "button", onclick: () => open(run.run_id).catch(fail) }, run.query.slice(0, 60), status);
      button.setAttribute("aria-current", String(run.run_id === current?.id));
      return element("li", {}, button);
    }),
  );
}

const fail = (error) => note(`✗ ${error.message}`, "error");

$("ask").onsubmit = async (submit) => {
  submit.preventDefault();
  const query = $("query").value;
  try {
    if (current?.status === "paused") {
      await answer({ query }, query);
    } else {
      const controller = new AbortController();
      const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ query, deltas: true }), signal: controller.signal };
      const answer = await call("/stream", options);
      $("query").value = "";
      $("events").replaceChildren();
      speech("You", query, true);
      // the first event names the run; from there on it is followed like any other
      for await (const block of blocks(answer.body)) {
        const at = block.match(/^id: (.*):\d+$/m);
        if (at) {
          const followed = follow(at[1]);
          setTimeout(() => controller.abort(), 1000);
          await followed;
          break;
        }
      }
    }
  } catch (error) {
    fail(error);
  }
};

async function answer(body, words) {
  const { id } = current;
  const after = await newest(id);
  await post(`/runs/${id}/resume`, { ...body, deltas: true });
  $("query").value = "";
  speech("You", words, true);
  await follow(id, after);
}

async function newest(id) {
  let after = 0;
  const answer = await call(`/runs/${id}/events`);
  for await (const block of blocks(answer.body)) after = Number(block.match(/^id: .*:(\d+)$/m)?.[1] ?? after);
  return after;
}

$("query").onkeydown = (key) => {
  if (key.key === "Enter" && !key.shiftKey) {
    key.preventDefault();
    $("ask").requestSubmit();
  }
};
$("stop").onclick = () => post(`/runs/${current.id}/cancel`).catch(fail);
$("fresh").onclick = () => {
  current?.controller.abort();
  current = null;
  $("events").replaceChildren();
  setStatus("idle");
};

// a broken edit of the crew's files changes nothing, and is told here
function showConfig({ revision, last_reload: { successful, at, problems } }) {
  const errors = problems.filter((p) => p.severity === "error").map((p) => `${p.file}:${p.line}:${p.column}: ${p.message}${p.suggestion ? `; did you mean '${p.suggestion}'?` : ""}`);
  $("config").hidden = successful;
  $("config").textContent = `The files of ${new Date(at).toLocaleTimeString()} were not taken; revision ${revision} goes on.\n${errors.join("\n")}`;
}

document.onvisibilitychange = window.onfocus = () => {
  if (!document.hidden) call("").then((answer) => answer.json()).then((crew) => showConfig(crew.config)).catch(fail);
};

async function begin() {
  try {
    const crew = await (await call("")).json();
    showConfig(crew.config);
    $("crew").textContent = document.title = crew.name;
    $("description").textContent = crew.description;
    $("agents").replaceChildren(
      ...crew.agents.map((agent) => {
        const item = element("li", {}, agent.name, element("small", {}, `${agent.id} · ${agent.model}${agent.waits_for_signal ? " · may ask you" : ""}`));
        item.dataset.id = agent.id;
        return item;
      }),
    );
    await listRuns();
  } catch (error) {
    fail(error);
  }
}

begin();
