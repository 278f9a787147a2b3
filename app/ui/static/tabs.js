// Tab lists: one tab stop; arrow keys, Home and End move between tabs.

import { byId } from "/ui/dom.js";

export function tabs(list, onShow = () => {}) {
  const all = [...list.querySelectorAll('[role="tab"]')];

  function show(chosen, focus = false) {
    for (const tab of all) {
      const on = tab === chosen;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = !on;
    }
    if (focus) chosen.focus();
    onShow(chosen.id.replace("tab-", ""));
  }

  list.addEventListener("keydown", (event) => {
    const at = all.indexOf(document.activeElement);
    const next = {
      ArrowRight: (at + 1) % all.length, ArrowLeft: (at + all.length - 1) % all.length,
      Home: 0, End: all.length - 1,
    }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    show(all[next], true);
  });
  for (const tab of all) tab.addEventListener("click", () => show(tab));
  return (name, focus) => {
    const tab = all.find((each) => each.id === `tab-${name}`);
    if (tab) show(tab, focus);
  };
}
