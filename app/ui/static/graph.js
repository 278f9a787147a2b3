// A drawing of an automaton as SVG: layers by distance from the start, from left to right.

import { short, svg } from "/ui/dom.js";

const COLUMN = 118;
const ROW = 46;
const RADIUS = 13;
const PAD = 24;
const LABEL = 14;
// width of a letter of a label, and its height
const LETTER = 6.4;
const LINE = 12;
// passes that move nodes next to their neighbours: more change little
const PASSES = 6;

const LITERAL = /^(?:"([^]*)"|'([^]*)')$/;
const literal = (label) => { const match = LITERAL.exec(label); return match ? (match[1] ?? match[2]) : null; };
const quoted = (text) => (text.includes('"') && !text.includes("'") ? `'${text}'` : `"${text}"`);

// Join chains of literal edges through nodes that have one way in and one way out
function joined({ nodes, edges }) {
  const out = new Map();
  const into = new Map();
  for (const edge of edges) {
    out.set(edge.source, [...(out.get(edge.source) ?? []), edge]);
    into.set(edge.target, [...(into.get(edge.target) ?? []), edge]);
  }
  const isInner = (node, at) => {
    const [ways, back] = [out.get(node.id) ?? [], into.get(node.id) ?? []];
    return at > 0 && !node.is_final && ways.length === 1 && back.length === 1 &&
      ways[0].target !== node.id && literal(ways[0].label) !== null && literal(back[0].label) !== null;
  };
  const inner = new Set(nodes.filter(isInner).map((node) => node.id));
  const made = [];
  for (const edge of edges) {
    if (inner.has(edge.source)) continue;
    let { target, label } = edge;
    const seen = new Set();
    while (inner.has(target) && !seen.has(target)) {
      seen.add(target);
      const [next] = out.get(target);
      label = quoted(literal(label) + literal(next.label));
      target = next.target;
    }
    made.push({ source: edge.source, target, label });
  }
  return { nodes: nodes.filter((node) => !inner.has(node.id)), edges: made };
}

// Put labels of several edges between two nodes on one
function merged(edges) {
  const found = new Map();
  for (const edge of edges) {
    const key = `${edge.source} ${edge.target}`;
    const known = found.get(key);
    if (known) known.label += ` | ${edge.label}`;
    else found.set(key, { ...edge });
  }
  return [...found.values()];
}

function layered(nodes, edges) {
  const depth = new Map(nodes.length ? [[nodes[0].id, 0]] : []);
  const todo = nodes.length ? [nodes[0].id] : [];
  for (let at = 0; at < todo.length; at += 1) {
    for (const edge of edges) {
      if (edge.source === todo[at] && !depth.has(edge.target)) {
        depth.set(edge.target, depth.get(todo[at]) + 1);
        todo.push(edge.target);
      }
    }
  }
  const layers = [];
  for (const node of nodes) {
    const at = depth.get(node.id) ?? 0;
    (layers[at] ??= []).push(node.id);
  }
  return { depth, layers: [...layers].map((layer) => layer ?? []) };
}

function ordered(layers, edges) {
  const y = new Map();
  const settle = (layer) => layer.forEach((id, at) => y.set(id, at - (layer.length - 1) / 2));
  layers.forEach(settle);
  const near = new Map();
  for (const { source, target } of edges) {
    if (source === target) continue;
    near.set(source, [...(near.get(source) ?? []), target]);
    near.set(target, [...(near.get(target) ?? []), source]);
  }
  for (let pass = 0; pass < PASSES; pass += 1) {
    for (const layer of pass % 2 ? [...layers].reverse() : layers) {
      const weight = new Map(layer.map((id) => {
        const around = near.get(id) ?? [];
        return [id, around.length ? around.reduce((sum, other) => sum + y.get(other), 0) / around.length : y.get(id)];
      }));
      layer.sort((a, b) => weight.get(a) - weight.get(b));
      settle(layer);
    }
  }
  return y;
}

function path(a, b, span) {
  if (a === b) return { d: `M${a.x - 6},${a.y - RADIUS + 2} c-12,-26 24,-26 12,0`, x: a.x, y: a.y - RADIUS - 20 };
  if (span === 1) {
    const middle = (a.x + b.x) / 2;
    return { d: `M${a.x + RADIUS},${a.y} C${middle},${a.y} ${middle},${b.y} ${b.x - RADIUS - 2},${b.y}`, x: middle, y: (a.y + b.y) / 2 - 5 };
  }
  if (span === 0) {
    const side = b.y > a.y ? 1 : -1;
    const bend = a.x + 34;
    return { d: `M${a.x + 8},${a.y + side * 10} Q${bend},${(a.y + b.y) / 2} ${b.x + 8},${b.y - side * 11}`, x: bend - 8, y: (a.y + b.y) / 2 };
  }
  const lift = Math.min(18 + 11 * Math.abs(span), 90);
  const side = span > 0 ? -1 : 1;
  const top = (side < 0 ? Math.min(a.y, b.y) : Math.max(a.y, b.y)) + side * lift;
  return { d: `M${a.x},${a.y + side * RADIUS} C${a.x},${top} ${b.x},${top} ${b.x},${b.y + side * (RADIUS + 2)}`, x: (a.x + b.x) / 2, y: (top * 3 + (a.y + b.y) / 2) / 4 - 3 };
}

// Move labels up or down where they would lie on a state or on another label
function spread(lines, states) {
  const taken = states.map(({ x, y }) => ({ x, y, half: RADIUS, tall: RADIUS + 4 }));
  for (const { edge, way } of lines) {
    const half = (Math.min(edge.label.length, LABEL) * LETTER) / 2;
    const isFree = (y) => taken.every((each) => Math.abs(each.x - way.x) > each.half + half || Math.abs(each.y - y) >= (each.tall ?? LINE));
    const steps = [0, -1, 1, -2, 2, -3, 3, -4, 4].map((step) => way.y + step * LINE);
    way.y = steps.find(isFree) ?? way.y;
    taken.push({ x: way.x, y: way.y, half });
  }
}

// Return the drawing; onNode gets the node that has the pointer or the focus
export function draw(drawing, onNode) {
  const { nodes, edges: all } = joined(drawing);
  const edges = merged(all);
  const { depth, layers } = layered(nodes, edges);
  const y = ordered(layers, edges);
  const place = new Map(nodes.map((node) => [node.id, {
    x: PAD + RADIUS + (depth.get(node.id) ?? 0) * COLUMN, y: y.get(node.id) * ROW,
  }]));
  const lines = edges.map((edge) => ({
    edge, way: edge.source === edge.target ? path(place.get(edge.source), place.get(edge.source)) :
      path(place.get(edge.source), place.get(edge.target), (depth.get(edge.target) ?? 0) - (depth.get(edge.source) ?? 0)),
  }));
  spread(lines, [...place.values()]);
  const ys = [...[...place.values()].map((at) => at.y), ...lines.map(({ way }) => way.y)];
  const [low, high] = [Math.min(0, ...ys) - PAD - 6, Math.max(0, ...ys) + PAD + 6];
  const width = Math.max(1, layers.length - 1) * COLUMN + 2 * (PAD + RADIUS);
  const picture = svg("svg", {
    viewBox: `0 ${low} ${width} ${high - low}`, width, height: high - low, role: "group",
    "aria-label": `Automaton with ${nodes.length} states and ${edges.length} edges; arrow keys move between states`,
  });
  picture.append(svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, svg("path", { d: "M0,0 L8,4 L0,8 z", class: "tip" }))));
  for (const { edge, way } of lines) {
    const group = svg("g", { class: "edge" }, svg("title", {}, edge.label), svg("path", { d: way.d, "marker-end": "url(#tip)" }));
    group.append(svg("text", { x: way.x, y: way.y }, short(edge.label, LABEL)));
    picture.append(group);
  }
  nodes.forEach((node, at) => {
    const { x, y: top } = place.get(node.id);
    const tell = () => onNode(node);
    const group = svg("g", { class: `state${at === 0 ? " start" : ""}`, tabindex: at === 0 ? 0 : -1, role: "img", "aria-label": `${node.title}: ${node.lines.join("; ")}`, onpointerenter: tell, onfocus: tell },
      svg("title", {}, node.lines.join("\n")), svg("circle", { cx: x, cy: top, r: RADIUS }));
    if (node.is_final) group.append(svg("circle", { cx: x, cy: top, r: RADIUS - 3, class: "inner" }));
    group.append(svg("text", { x, y: top + 3.5 }, node.title.replace("row ", "")));
    picture.append(group);
  });
  moveWithKeys(picture);
  return picture;
}

// One tab stop; arrow keys, Home and End move between the states, in the order of the drawing
function moveWithKeys(picture) {
  const all = [...picture.querySelectorAll(".state")].sort((a, b) => {
    const [p, q] = [a, b].map((each) => each.querySelector("circle"));
    return p.getAttribute("cx") - q.getAttribute("cx") || p.getAttribute("cy") - q.getAttribute("cy");
  });
  picture.addEventListener("keydown", (event) => {
    const at = all.indexOf(document.activeElement);
    const last = all.length - 1;
    const to = {
      ArrowRight: Math.min(at + 1, last), ArrowDown: Math.min(at + 1, last),
      ArrowLeft: Math.max(at - 1, 0), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last,
    }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    all[at].setAttribute("tabindex", "-1");
    all[to].setAttribute("tabindex", "0");
    all[to].focus();
  });
}
