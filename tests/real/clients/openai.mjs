// OpenAI's own client: completions and responses, streamed, with an approval.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.argv[2]}/v1`, apiKey: "none", maxRetries: 0 });
const model = (await client.models.list()).data[0].id;
const query = process.argv[3];
const stream = client.chat.completions.stream({ model, messages: [{ role: "user", content: query }] });
const completion = await stream.finalChatCompletion();
let response = await client.responses.create({ model, input: query });
const asked = response.output.filter(item => item.type === "mcp_approval_request");
const kinds = [];
if (asked.length) {
  const input = asked.map(one => ({ type: "mcp_approval_response", approval_request_id: one.id, approve: true }));
  const events = client.responses.stream({ model, input, previous_response_id: response.id });
  for await (const event of events) kinds.push(event.type);
  response = await events.finalResponse();
}
console.log(JSON.stringify({
  content: completion.choices[0].message.content, text: response.output_text, asked: asked.length,
  items: response.output.map(item => item.type), last: kinds.at(-1),
}));
