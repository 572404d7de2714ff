// What the modules of the console share: elements, and text that hides nothing.

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// what would hide a part of a text, or turn it around
export function visible(text) {
  const hidden = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
  return text.replace(hidden, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
