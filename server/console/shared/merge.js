// One text that two people have changed since they had it from the same revision.

import { diff3Merge } from "../vendor/diff3.esm.js";

// the text with the changes of both; where these are at the same lines it has both, between marks, and
// `conflicts` counts these places
export function merged(mine, origin, theirs) {
  if (theirs === origin || theirs === mine) return { text: mine, conflicts: 0 };
  if (mine === origin) return { text: theirs, conflicts: 0 };
  const parts = diff3Merge(mine.split("\n"), origin.split("\n"), theirs.split("\n"), { excludeFalseConflicts: true });
  const lines = parts.flatMap(({ ok, conflict }) => ok ?? ["<<<<<<<", ...conflict.a, "=======", ...conflict.b, ">>>>>>>"]);
  return { text: lines.join("\n"), conflicts: parts.filter(({ conflict }) => conflict).length };
}
