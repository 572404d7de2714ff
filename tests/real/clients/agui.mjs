// AG-UI's own client: a run with an interrupt, which is answered with a yes.
import { HttpAgent } from "@ag-ui/client";

const agent = new HttpAgent({ url: `${process.argv[2]}/agui`, threadId: "t1" });
agent.messages = [{ id: "m1", role: "user", content: process.argv[3] }];
const events = [];
const finished = [];
const seen = {
  onEvent: ({ event }) => { events.push(event.type); },
  onRunFinishedEvent: ({ event }) => { finished.push(event); },
};
let { result } = await agent.runAgent({ runId: "r1" }, seen);
const interrupts = finished[0].outcome.interrupts ?? [];
if (interrupts.length) {
  const resume = interrupts.map(one => ({ interruptId: one.id, status: "resolved", payload: { approved: true } }));
  ({ result } = await agent.runAgent({ runId: "r2", resume }, seen));
}
const tools = agent.messages.filter(one => one.role === "tool").map(one => one.content);
const calls = agent.messages.flatMap(one => one.toolCalls ?? []).map(one => one.function.name);
console.log(JSON.stringify({ result, tools, calls, interrupts: interrupts.length, events, ids: agent.messages.map(one => one.id) }));
