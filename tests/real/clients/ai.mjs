// The AI SDK's chat as `useChat` has it: an approval is answered, and sent by itself.
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = message => { this.messages = this.messages.concat(message); };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => { this.messages = this.messages.map((one, n) => (n === index ? message : one)); };
  snapshot = value => structuredClone(value);
}
class Chat extends AbstractChat {
  constructor(init) { super({ ...init, state: new State() }); }
}
const errors = [];
let idle;
const chat = new Chat({
  id: "c1",
  transport: new DefaultChatTransport({ api: `${process.argv[2]}/ai` }),
  sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  onError: error => errors.push(String(error)),
  onFinish: () => idle?.(),
});
await chat.sendMessage({ text: process.argv[3] });
const asked = chat.lastMessage.parts.filter(part => part.state === "approval-requested");
if (asked.length) {
  const done = new Promise(resolve => { idle = resolve; });
  await chat.addToolApprovalResponse({ id: asked[0].approval.id, approved: true });
  await done;
}
if (process.argv[4]) {
  // a second message, an answer wanted anew, and that message edited
  await chat.sendMessage({ text: process.argv[4] });
  await chat.regenerate();
  await chat.sendMessage({ text: process.argv[5], messageId: chat.messages[2].id });
}
const parts = chat.lastMessage.parts;
console.log(JSON.stringify({
  text: parts.filter(part => part.type === "text").map(part => part.text).join(""),
  tools: parts.filter(part => part.type === "dynamic-tool").map(part => [part.toolName, part.state, part.output]),
  data: parts.filter(part => part.type.startsWith("data-")).map(part => part.type),
  messages: chat.messages.length, asked: asked.length, errors, status: chat.status,
}));
