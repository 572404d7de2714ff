// Elements, and text that hides nothing: what the console and the chat share.

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// what would hide a part of a text, or turn it around; the same set as in tools/texts.py
const hidden =
  /[\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e007f}]|(?:(?<=[\x00-\x7f])|^)[\u200c\u200d]|[\u200c\u200d](?=[\x00-\x7f]|$)|(?<=[A-Za-z])[\ufe00-\ufe0f]/gu;

export function visible(text) {
  return text.replace(hidden, (found) => {
    const code = found.codePointAt(0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
}

export const json = (value) => visible(JSON.stringify(value, null, 2));

// Enter sends, unless it ends a word that is being composed, or begins a new line
export function sendOnEnter(text, send) {
  text.onkeydown = (key) => {
    if (key.key !== "Enter" || key.shiftKey || key.isComposing) return;
    key.preventDefault();
    send.click();
  };
}
