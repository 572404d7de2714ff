// A2A's own client in JavaScript, by the binding that is named: a task that asks, and is answered.
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, RestTransportFactory, DefaultAgentCardResolver } from "@a2a-js/sdk/client";

const [url, query, binding = "JSONRPC"] = process.argv.slice(2);
const transports = binding === "JSONRPC" ? [new JsonRpcTransportFactory()] : [new RestTransportFactory()];
const factory = new ClientFactory({ ...ClientFactoryOptions.default, transports, preferredTransports: [binding] });
const client = await factory.createFromUrl(url);
const parts = (text, data) => [
  ...(text ? [{ content: { $case: "text", value: text } }] : []),
  ...(data ? [{ content: { $case: "data", value: data } }] : []),
];
const send = async (text, more = {}, data) => {
  const message = { messageId: crypto.randomUUID(), role: 1, parts: parts(text, data), extensions: [], referenceTaskIds: [], contextId: "", taskId: "", ...more };
  const kinds = [];
  let last;
  for await (const event of client.sendMessageStream({ message })) {
    const one = event.payload ?? event;
    kinds.push(one.$case);
    last = one.value;
  }
  return { kinds, last };
};
const first = await send(query);
let { last } = first;
const state = last.status?.state;
if (state === 6) {
  const data = last.status.message.parts.find(part => part.content.$case === "data").content.value;
  const decisions = data.calls.map(call => ({ call_id: call.call_id, decision: "approve" }));
  ({ last } = await send("", { taskId: last.taskId, contextId: last.contextId }, { decisions, pause: data.pause }));
}
const task = await client.getTask({ id: last.taskId });
const text = (task.artifacts ?? []).flatMap(one => one.parts).map(part => part.content.value).join("");
console.log(JSON.stringify({ text, first: state, state: task.status.state, begins: first.kinds[0] }));
