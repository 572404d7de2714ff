// What of a page a person has opened or closed stands in its address: back, reload and a sent link show the same.

const NAME = "open";
const named = () => (new URLSearchParams(location.search).get(NAME) ?? "").split(",").filter(Boolean);

export { NAME as OPENED };

/** Keep in the address that a part is not as it was made; `key`: names it on its page, without commas. */
export function kept(key, part) {
  const before = part.open;
  if (named().includes(key)) part.open = !before;
  // behind a page that was left, nothing is noted any more
  part.addEventListener("toggle", () => part.isConnected && note(key, part.open !== before));
  return part;
}

function note(key, isOther) {
  const found = new Set(named());
  if (found.has(key) === isOther) return;
  if (isOther) found.add(key);
  else found.delete(key);
  const parts = new URLSearchParams(location.search);
  if (found.size) parts.set(NAME, [...found].join(","));
  else parts.delete(NAME);
  history.replaceState(history.state, "", [location.pathname, parts.toString()].filter(Boolean).join("?") + location.hash);
}
