// A text area with marks. They lie in a layer below its transparent text, which scrolls with it.

import { el, fill } from "/ui/dom.js";

export function editor(area, layer) {
  function follow() {
    layer.scrollTop = area.scrollTop;
    layer.scrollLeft = area.scrollLeft;
  }

  area.addEventListener("scroll", follow);
  return {
    // marks: {range: [start, end], tone}; of overlapping ones, the first
    mark(marks) {
      const text = area.value;
      const pieces = [];
      let at = 0;
      for (const { range: [start, end], tone } of marks.sort((a, b) => a.range[0] - b.range[0] || a.range[1] - b.range[1])) {
        if (start < at) continue;
        pieces.push(text.slice(at, start), el("mark", { class: tone }, text.slice(start, end)));
        at = end;
      }
      fill(layer, ...pieces, `${text.slice(at)}\n`);
      follow();
    },
    // Select a range, and scroll to its start in both directions
    select([start, end]) {
      area.focus();
      area.setSelectionRange(start, end);
      const place = placeOf(layer, start);
      const box = layer.getBoundingClientRect();
      const style = getComputedStyle(area);
      area.scrollTop = Math.max(0, place.top - box.top + layer.scrollTop - 4 * parseFloat(style.lineHeight));
      area.scrollLeft = Math.max(0, place.left - box.left + layer.scrollLeft - area.clientWidth / 2);
      follow();
    },
  };
}

function placeOf(layer, offset) {
  const range = document.createRange();
  const walker = document.createTreeWalker(layer, NodeFilter.SHOW_TEXT);
  let left = offset;
  while (walker.nextNode()) {
    const { data } = walker.currentNode;
    if (left < data.length) {
      range.setStart(walker.currentNode, left);
      range.setEnd(walker.currentNode, left + 1);
      break;
    }
    left -= data.length;
  }
  return range.getBoundingClientRect();
}
