// The AI SDK's chat as `useChat` has it: an approval is answered, and sent by itself.
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, readUIMessageStream } from "ai";

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
const errors = [], bodies = [];
// what the streams have, to be read once more
const listening = async (address, options) => {
  const answer = await fetch(address, options);
  bodies.push(answer.clone());
  return answer;
};
class Reading extends DefaultChatTransport {
  read = body => this.processResponseStream(body);
}
let idle;
const chat = new Chat({
  id: "c1",
  transport: new DefaultChatTransport({ api: `${process.argv[2]}/ai`, fetch: listening }),
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
if (process.argv[6]) {
  // the first one edited, after which nothing else is repeated
  await chat.sendMessage({ text: process.argv[6], messageId: chat.messages[0].id });
}
// as a page that was loaded anew gets it, which has no message yet
let anew;
for await (const message of readUIMessageStream({
  stream: new Reading({}).read(bodies.at(-1).body), onError: error => errors.push(String(error)),
})) anew = message;
const parts = chat.lastMessage.parts;
console.log(JSON.stringify({
  text: parts.filter(part => part.type === "text").map(part => part.text).join(""),
  tools: parts.filter(part => part.type === "dynamic-tool").map(part => [part.toolName, part.state, part.output]),
  data: parts.filter(part => part.type.startsWith("data-")).map(part => part.type),
  anew: anew.parts.filter(part => part.type === "dynamic-tool").map(part => [part.toolName, part.state]),
  messages: chat.messages.length, asked: asked.length, errors, status: chat.status,
}));
