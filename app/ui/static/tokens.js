// The tokens of an output: accepted, rejected or unread; arrow keys move between them.

import { el, fill, visible } from "/ui/dom.js";

export function tokenList(box, onSelect) {
  let items = [];
  let chosen = -1;

  function choose(at, isAsked = true) {
    if (items[chosen]) items[chosen].setAttribute("aria-selected", "false");
    chosen = at;
    const item = items[at];
    if (item) {
      item.setAttribute("aria-selected", "true");
      box.setAttribute("aria-activedescendant", item.id);
      item.scrollIntoView({ block: "nearest" });
    } else box.removeAttribute("aria-activedescendant");
    if (isAsked) onSelect(at);
  }

  box.addEventListener("click", (event) => {
    const at = items.indexOf(event.target.closest(".token"));
    if (at >= 0 && !items[at].classList.contains("unread")) choose(at);
  });
  box.addEventListener("keydown", (event) => {
    const last = items.findLastIndex((item) => !item.classList.contains("unread"));
    const to = { ArrowRight: Math.min(chosen + 1, last), ArrowLeft: Math.max(chosen - 1, 0), Home: 0, End: last }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    if (to !== chosen) choose(to);
  });

  return {
    show(trace) {
      items = trace.tokens.map((token, at) => {
        const state = at < trace.accepted ? "accepted" : at === trace.accepted && trace.rejected ? "rejected" : "unread";
        return el("span", { id: `token-${at}`, class: `token ${state}`, role: "option", "aria-selected": "false", "aria-label": `${visible(token.text)}, ${state}`, title: `${state} · id ${token.id}` }, visible(token.text));
      });
      const pieces = items.flatMap((item, at) => (trace.tokens[at].text.includes("\n") ? [item, el("br")] : [item]));
      fill(box, ...pieces);
      choose(trace.at < items.length && !items[trace.at].classList.contains("unread") ? trace.at : -1, false);
    },
    clear() { items = []; chosen = -1; fill(box); box.removeAttribute("aria-activedescendant"); },
  };
}
