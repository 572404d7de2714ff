// the crew's server is another origin: its script is public, what it may do is said by the ticket
const { url } = await (await fetch("/crew")).json();
const chat = document.querySelector("crew-chat");
chat.setAttribute("url", url);
chat.ticket = async () => (await fetch("/ticket", { method: "POST" })).text();
chat.addEventListener("crew-done", ({ detail }) => console.log("answered", detail.run));
await import(`${url}/chat.js`);
