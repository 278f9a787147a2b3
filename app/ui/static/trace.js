// What a grammar does to an output: the reason for a rejection, and what may follow.

import { byId, el, fill, short, visible } from "/ui/dom.js";

const code = (text) => el("code", {}, visible(text));

export function showTrace(trace) {
  const parts = [];
  if (trace.problem) parts.push(el("p", { class: "warn-text" }, `Not read to its end: ${trace.problem}.`));
  else if (trace.rejected) parts.push(...rejection(trace));
  else if (trace.is_complete) parts.push(el("p", { class: "good-text" }, "Accepted; the answer may end here."));
  else parts.push(el("p", {}, "Accepted so far; the answer must go on."));
  fill(byId("why"), ...parts);
  const { next } = trace;
  const count = next.count.toLocaleString("en");
  byId("next-title").textContent = trace.at < trace.tokens.length ? `Allowed instead of token ${trace.at + 1}: ${count}` : `Allowed next: ${count}`;
  const forced = next.forced ? el("span", { class: "muted" }, "must continue with ", code(next.forced), " ") : null;
  const end = next.may_end ? el("span", { class: "token end" }, "end of answer") : null;
  const shown = next.tokens.map((token) => el("span", { class: "token allowed", title: `id ${token.id}` }, visible(token.text) || "∅"));
  const more = next.count - shown.length;
  fill(byId("next"), forced, end, ...shown, more > 0 ? el("span", { class: "muted" }, ` and ${more.toLocaleString("en")} more`) : null);
}

export function clearTrace() {
  fill(byId("why"));
  fill(byId("next"));
  byId("next-title").textContent = "Allowed next";
}

function rejection({ rejected, accepted }) {
  const after = rejected.byte ? [" after ", code(rejected.accepted_text)] : [];
  const items = [...rejected.items, ...(rejected.more_items ? [`${rejected.more_items} more`] : [])];
  return [
    el("p", { class: "bad-text" }, `Token ${accepted + 1} `, code(rejected.text), " is rejected", ...after, "."),
    el("p", {}, "Expected: ", rejected.expected ? el("code", {}, short(rejected.expected, 300)) : "the end of the answer, or a special token"),
    items.length ? el("details", {}, el("summary", {}, "Open parts of the grammar"), el("pre", {}, items.join("\n"))) : null,
  ].filter(Boolean);
}
