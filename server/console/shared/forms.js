// What a tool asks a person, as a form of the page: its JSON schema has no nesting (MCP, elicitation).

import { element, visible } from "./elements.js";

// the node that shows a form, and what is filled in
export function formOf({ message, schema, url }) {
  const node = element("div", { className: "form" }, element("p", {}, visible(message)));
  if (url) {
    node.append(element("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, visible(url)));
    return { node, read: () => undefined };
  }
  const fields = Object.entries(schema.properties ?? {}).map(([name, one]) => [name, one, inputOf(one)]);
  for (const [name, one, input] of fields) {
    // a box that is not ticked, and a list without items, are answers too
    input.required = (schema.required ?? []).includes(name) && !["boolean", "array"].includes(one.type);
    const about = one.description ? ` (${visible(one.description)})` : "";
    node.append(element("label", {}, `${visible(one.title ?? name)}${about} `, input));
  }
  const read = () => {
    const content = {};
    for (const [name, one, input] of fields) {
      if (!input.reportValidity()) throw new Error(`${one.title ?? name}: ${input.validationMessage}`);
      const value = valueOf(one, input);
      if (value !== undefined) content[name] = value;
    }
    return content;
  };
  return { node, read };
}

// {value: title} of a choice, whichever way the schema says it
function choicesOf(one) {
  const titled = one.oneOf ?? one.anyOf;
  if (titled) return titled.map((each) => [each.const, each.title ?? each.const]);
  return (one.enum ?? []).map((value, place) => [value, one.enumNames?.[place] ?? value]);
}

function inputOf(one) {
  const several = one.type === "array";
  const choices = choicesOf(several ? one.items ?? {} : one);
  if (choices.length) {
    const chosen = [one.default ?? []].flat();
    const options = choices.map(([value, title]) =>
      element("option", { value, selected: chosen.includes(value) }, visible(String(title))),
    );
    return element("select", { multiple: several }, ...(several ? [] : [element("option", { value: "" })]), ...options);
  }
  if (one.type === "boolean") return element("input", { type: "checkbox", checked: one.default === true });
  const value = one.default ?? "";
  if (one.type === "number" || one.type === "integer") {
    const step = one.type === "integer" ? "1" : "any";
    const bounds = { min: one.minimum ?? "", max: one.maximum ?? "" };
    return element("input", { type: "number", step, value, ...bounds });
  }
  const type = { email: "email", uri: "url", date: "date" }[one.format] ?? "text";
  const input = element("input", { type, value });
  // a browser refuses bounds that contradict each other; the server checks what is sent
  const { minLength: least = 0, maxLength: most } = one;
  if (most !== undefined) input.maxLength = most;
  if (most === undefined || least <= most) input.minLength = least;
  return input;
}

function valueOf(one, input) {
  if (one.type === "boolean") return input.checked;
  if (one.type === "array") return [...input.selectedOptions].map((option) => option.value);
  if (input.value === "") return undefined;
  return one.type === "number" || one.type === "integer" ? Number(input.value) : input.value;
}
