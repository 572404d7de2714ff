// How the chat looks: variables and parts are what a page may change.

export const STYLE = `
:host {
  color-scheme: light dark;
  --ink: var(--crew-ink, light-dark(#1a1d21, #e6e8eb));
  --faint: var(--crew-faint, light-dark(#596273, #98a2b3));
  --paper: var(--crew-paper, light-dark(#ffffff, #14171a));
  --shade: var(--crew-shade, light-dark(#f1f3f6, #1f2429));
  --line: var(--crew-line, light-dark(#d0d5dd, #3b424a));
  --accent: var(--crew-accent, light-dark(#1d4ed8, #7aa2ff));
  --on-accent: var(--crew-on-accent, light-dark(#ffffff, #10141c));
  --bad: var(--crew-bad, light-dark(#b42318, #f97066));
  --warn: var(--crew-warn, light-dark(#93370d, #fdb022));
  --radius: var(--crew-radius, 10px);
  display: flex; flex-direction: column; min-height: 0; box-sizing: border-box;
  font: var(--crew-font, 15px/1.5 system-ui, sans-serif); color: var(--ink); background: var(--paper);
}
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
/* what a page sets for all of its elements reaches the chat's, too: what is approved must be read as it is */
:host > :not(slot) { text-transform: none; letter-spacing: normal; word-spacing: normal; line-height: 1.5; text-indent: 0; text-align: start; white-space: normal; font-style: normal; text-shadow: none; }
ol.log { flex: 1; min-height: 0; overflow-y: auto; overscroll-behavior: contain; list-style: none; margin: 0; padding: .8rem; display: flex; flex-direction: column; gap: .7rem; }
li { max-width: min(46rem, 100%); overflow-wrap: anywhere; }
li.me { align-self: flex-end; background: var(--accent); color: var(--on-accent); border-radius: var(--radius); padding: .45rem .8rem; white-space: pre-wrap; }
li.crew { align-self: stretch; }
.name { font-weight: 600; font-size: .88rem; color: var(--faint); }
.writing { white-space: pre-wrap; margin: .2rem 0; }
.markdown > :first-child { margin-top: .2rem; } .markdown > :last-child { margin-bottom: .2rem; }
.markdown.plain { white-space: pre-wrap; }
pre, code, textarea.arguments { font-family: ui-monospace, monospace; font-size: .85rem; }
pre { margin: .3rem 0; padding: .5rem .7rem; background: var(--shade); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 20rem; overflow-y: auto; }
.wide { overflow-x: auto; } table { border-collapse: collapse; } th, td { text-align: left; vertical-align: top; padding: .2rem .6rem; border-bottom: 1px solid var(--line); }
blockquote { margin: .3rem 0; padding-left: .8rem; border-left: 3px solid var(--line); color: var(--faint); }
a { color: var(--accent); }
details { font-size: .9rem; } summary { cursor: pointer; color: var(--faint); min-height: 24px; }
details.steps > ol { list-style: none; margin: .2rem 0; padding-left: .8rem; border-left: 2px solid var(--line); display: grid; gap: .3rem; }
.note { color: var(--faint); font-size: .9rem; } .bad { color: var(--bad); } .warn { color: var(--warn); }
.card { border: 2px solid var(--warn); border-radius: var(--radius); padding: .6rem .8rem; display: grid; gap: .5rem; }
.card h3 { margin: 0; font-size: 1rem; } .card p { margin: 0; white-space: pre-wrap; }
.card fieldset { border: 0; padding: 0; margin: 0; display: flex; gap: .8rem; flex-wrap: wrap; }
.card label { display: block; } .form { display: grid; gap: .4rem; }
.buttons { display: flex; gap: .5rem; flex-wrap: wrap; align-items: center; }
button, input, select, textarea { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: .45rem .7rem; min-height: 36px; max-width: 100%; }
input[type="checkbox"], input[type="radio"] { min-height: 0; width: 1.1rem; height: 1.1rem; vertical-align: middle; }
button { background: var(--shade); cursor: pointer; } button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
button:disabled { opacity: .6; cursor: wait; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
form.ask { display: flex; gap: .5rem; align-items: end; padding: .6rem .8rem; border-top: 1px solid var(--line); }
form.ask textarea { flex: 1; min-width: 0; resize: vertical; max-height: 40vh; }
p.alert { margin: 0; padding: 0 .8rem; color: var(--bad); } p.alert:empty { display: none; }
.hidden, .card legend { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.spinner::before { content: ""; display: inline-block; width: .7em; height: .7em; border: 2px solid currentColor; border-right-color: transparent; border-radius: 50%; animation: spin 1s linear infinite; vertical-align: -1px; }
@keyframes spin { to { transform: rotate(1turn); } }
@media (prefers-reduced-motion: reduce) { .spinner::before { animation: none; } }
@media (forced-colors: active) { li.me { border: 1px solid; } }
`;
