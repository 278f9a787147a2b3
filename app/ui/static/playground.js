// The playground: a constraint, the findings about it, its grammar, and an output that is tried.

import { ApiError, get, post } from "/ui/api.js";
import { byId, el, fill, later, options, short, table, visible } from "/ui/dom.js";
import { EXAMPLES } from "/ui/examples.js";
import { draw } from "/ui/graph.js";
import { locate, ranges } from "/ui/json_pointer.js";
import { tabs } from "/ui/tabs.js";
import { tokenList } from "/ui/tokens.js";

// pause after the last key before the gateway is asked, in milliseconds
const PAUSE = 250;
// the constraint in the request, by kind of input
const PREFIX = { schema: "/response_format/json_schema/schema", tools: "/tools" };
const MOST_FINDINGS = 100;

function requestOf(kind, value, { isStrict, format, choice, output, model }) {
  const common = { model, output, ...(format ? { format } : {}) };
  if (kind === "schema") {
    const described = { name: "answer", schema: value, ...(isStrict ? { strict: true } : {}) };
    return { ...common, response_format: { type: "json_schema", json_schema: described } };
  }
  const tools = Array.isArray(value) ? value : [value];
  const chosen = isStrict ? tools.map((tool) => (tool?.function ? { ...tool, function: { ...tool.function, strict: true } } : tool)) : tools;
  return { ...common, tools: chosen, tool_choice: choice };
}

// Findings as {tone, title, text, pointer}; pointers lead into the request
function findingsOf(answer) {
  const found = [];
  if (answer.error) found.push({ tone: "bad", title: "Refused", text: answer.error.message, pointer: answer.error.pointer });
  for (const each of answer.relaxed) found.push({ tone: "warn", title: `Relaxed: ${each.keyword}`, text: each.reason, pointer: each.pointer });
  const known = new Set(found.map((each) => each.pointer));
  for (const schema of answer.schemas) {
    const add = (tone, title, each) => {
      const pointer = schema.pointer + each.pointer;
      if (!known.has(pointer)) found.push({ tone, title, text: each.reason, pointer });
    };
    if (schema.mistake) add("bad", "Mistake", schema.mistake);
    for (const each of schema.refused) add(answer.error ? "bad" : "warn", `Not enforced: ${each.keyword}`, each);
    for (const each of schema.annotations) add("note", `No effect: ${each.keyword}`, each);
  }
  return found;
}

function enforced(answer) {
  const counts = {};
  for (const schema of answer.schemas) {
    for (const [name, count] of Object.entries(schema.enforced)) counts[name] = (counts[name] ?? 0) + count;
  }
  return Object.entries(counts).map(([name, count]) => `${name} ${count}`).join(", ");
}

export function startPlayground() {
  const [source, output, kind, format, rule] = ["source", "output", "kind", "format", "rule"].map(byId);
  let isStarted = false;
  let model = null;
  let running = null;
  let placed = new Map();
  let wantedRule = null;
  let isRuleChosen = false;
  const tokens = tokenList(byId("tokens"), (at) => run({ at }));

  // -- input
  function takeExample() {
    const example = EXAMPLES[Number(byId("example").value)];
    kind.value = example.kind;
    source.value = JSON.stringify(example.source, null, 2);
    output.value = example.output;
    byId("strict").checked = example.strict ?? false;
    if (example.format) setFormat(example.format);
    changed();
  }

  function setFormat(name) {
    if (![...format.options].some((each) => each.value === name)) format.append(el("option", { value: name }, name));
    format.value = name;
  }

  function changed() {
    isRuleChosen = false;
    wantedRule = null;
    return run();
  }

  // -- asking
  async function run({ at } = {}) {
    byId("choice-label").hidden = kind.value !== "tools";
    running?.abort();
    const mine = new AbortController();
    running = mine;
    let value;
    try {
      value = JSON.parse(source.value);
      placed = ranges(source.value);
    } catch (error) {
      notJson(error);
      return;
    }
    const settings = { isStrict: byId("strict").checked, format: format.value, choice: byId("choice").value, output: output.value, model };
    const body = { ...requestOf(kind.value, value, settings), ...(at >= 0 ? { at } : {}), ...(wantedRule ? { rule: wantedRule } : {}) };
    try {
      show(await post("/v1/grammars/explain", body, mine.signal));
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error instanceof ApiError && error.param === "rule") { changed(); return; }
      failed(error);
    }
  }

  function verdict(tone, text) {
    const badge = byId("verdict");
    badge.className = `badge ${tone}`;
    badge.textContent = text;
  }

  function notJson(error) {
    const at = Number(/position (\d+)/.exec(error.message)?.[1] ?? NaN);
    verdict("bad", "not JSON");
    list([{ tone: "bad", title: "Not JSON", text: error.message, range: Number.isNaN(at) ? null : [Math.min(at, source.value.length - 1), at + 1] }], "");
    noGrammar();
  }

  function failed(error) {
    verdict("bad", error.status === 401 ? "key needed" : "failed");
    const pointer = error.param ? `/${error.param.replaceAll("[", "/").replaceAll("]", "").replaceAll(".", "/")}` : null;
    list([{ tone: "bad", title: "Error", text: error.message, pointer }], "");
    noGrammar();
  }

  // -- findings
  function list(found, enforcedText) {
    const prefix = PREFIX[kind.value];
    const marks = [];
    const items = found.slice(0, MOST_FINDINGS).map((each) => {
      const inside = each.pointer?.startsWith(prefix) ? each.pointer.slice(prefix.length) : null;
      let range = each.range ?? null;
      if (inside !== null) range = locate(placed, kind.value === "tools" && !source.value.trimStart().startsWith("[") ? inside.replace(/^\/0/, "") : inside);
      if (range && each.tone !== "note") marks.push({ range, tone: each.tone });
      const jump = range && el("button", { type: "button", class: "link", onclick: () => select(range) }, short(inside || "/", 120));
      return el("li", { class: each.tone }, el("strong", {}, each.title), " ", jump, " ", el("span", {}, short(each.text, 600)));
    });
    if (found.length > MOST_FINDINGS) items.push(el("li", { class: "note" }, `${found.length - MOST_FINDINGS} more`));
    if (enforcedText) items.push(el("li", { class: "good" }, el("strong", {}, "Enforced"), " ", el("span", {}, enforcedText)));
    fill(byId("findings"), ...items);
    paint(marks);
  }

  function select([start, end]) {
    source.focus();
    source.setSelectionRange(start, end);
    const line = source.value.slice(0, start).split("\n").length - 1;
    source.scrollTop = Math.max(0, line - 4) * parseFloat(getComputedStyle(source).lineHeight);
  }

  // the marks lie below the transparent text of the editor
  function paint(marks) {
    const text = source.value;
    const pieces = [];
    let at = 0;
    for (const { range: [start, end], tone } of marks.sort((a, b) => a.range[0] - b.range[0] || a.range[1] - b.range[1])) {
      if (start < at) continue;
      pieces.push(text.slice(at, start), el("mark", { class: tone }, text.slice(start, end)));
      at = end;
    }
    fill(byId("source-marks"), ...pieces, `${text.slice(at)}\n`);
    follow();
  }

  function follow() {
    const below = byId("source-marks");
    below.scrollTop = source.scrollTop;
    below.scrollLeft = source.scrollLeft;
  }

  // -- answers
  function show(answer) {
    options(format, [["", "the model's"], ...answer.formats.map((name) => [name, name])]);
    const found = findingsOf(answer);
    if (answer.error) verdict("bad", "refused");
    else if (found.some((each) => each.tone === "warn")) verdict("warn", "relaxed");
    else verdict("good", "enforced");
    list(found, enforced(answer));
    if (!answer.grammar) { noGrammar(); return; }
    showGrammar(answer.grammar);
    showTrace(answer.trace);
  }

  function noGrammar() {
    tokens.clear();
    fill(byId("why"));
    fill(byId("next"));
    fill(byId("drawing"), el("p", { class: "muted empty" }, "No grammar."));
    fill(byId("rules"));
    fill(byId("spec"));
    fill(byId("node"));
    byId("grammar-note").textContent = "";
  }

  function showGrammar(grammar) {
    const drawn = grammar.rules.filter((each) => each.states > 0);
    options(rule, [["", "all (rows)"], ...drawn.map((each) => [each.name, short(each.name, 48)])]);
    if (!isRuleChosen && wantedRule === null) {
      // an object's automaton shows its members; rows show single bytes
      const shown = drawn.find((each) => each.kind === "object") ?? drawn[0];
      isRuleChosen = true;
      if (shown) { wantedRule = shown.name; rule.value = shown.name; run(); return; }
    }
    rule.value = wantedRule ?? "";
    const { drawing } = grammar;
    const hidden = drawing.hidden_nodes + drawing.hidden_edges ? ` · ${drawing.hidden_nodes} states and ${drawing.hidden_edges} edges not drawn` : "";
    byId("grammar-note").textContent = `${grammar.rules.length + grammar.more_rules} rules${hidden}`;
    fill(byId("node"), "Point at a state to see its place in the grammar.");
    fill(byId("drawing"), draw(drawing, (node) => fill(byId("node"), `${node.title}${node.is_final ? " (final)" : ""}\n${node.lines.join("\n")}`)));
    const rows = grammar.rules.map((each) => [
      el("button", { type: "button", class: "link", disabled: each.states === 0, onclick: () => chooseRule(each.name) }, short(each.name, 60)),
      each.kind + (each.kind === "counted" || each.kind === "bounded" ? ` ${each.minimum}..${each.maximum ?? ""}` : ""),
      each.automaton, String(each.states), each.text.slice(each.text.indexOf("->") + 3),
    ]);
    fill(byId("rules"), table([["Rule", "code"], ["Kind", ""], ["Automaton", ""], ["States", "number"], ["Start", "code text"]], rows, "No rules."),
      grammar.more_rules ? el("p", { class: "muted" }, `${grammar.more_rules} more rules`) : null);
    fill(byId("spec"), pretty(grammar.spec), grammar.more_spec ? `\n… ${grammar.more_spec} more characters` : "");
  }

  function pretty(text) {
    try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
  }

  function chooseRule(name) {
    wantedRule = name || null;
    isRuleChosen = true;
    showDrawing("drawing");
    run();
  }

  function showTrace(trace) {
    tokens.show(trace);
    const parts = [];
    if (trace.problem) parts.push(el("p", { class: "warn-text" }, `Not read to its end: ${trace.problem}.`));
    else if (trace.rejected) parts.push(...rejection(trace));
    else if (trace.is_complete) parts.push(el("p", { class: "good-text" }, "Accepted; the answer may end here."));
    else parts.push(el("p", {}, "Accepted so far; the answer must go on."));
    fill(byId("why"), ...parts);
    const { next } = trace;
    const isBefore = trace.at < trace.tokens.length;
    byId("next-title").textContent = isBefore ? `Allowed instead of token ${trace.at + 1}: ${next.count.toLocaleString("en")}` : `Allowed next: ${next.count.toLocaleString("en")}`;
    const forced = next.forced ? el("span", { class: "muted" }, "must continue with ", el("code", {}, visible(next.forced)), " ") : null;
    const end = next.may_end ? el("span", { class: "token end" }, "end of answer") : null;
    const shown = next.tokens.map((token) => el("span", { class: "token allowed", title: `id ${token.id}` }, visible(token.text) || "∅"));
    const more = next.count - shown.length;
    fill(byId("next"), forced, end, ...shown, more > 0 ? el("span", { class: "muted" }, ` and ${more.toLocaleString("en")} more`) : null);
  }

  function rejection({ rejected, accepted }) {
    const after = rejected.byte ? [" after ", el("code", {}, visible(rejected.accepted_text))] : [];
    return [
      el("p", { class: "bad-text" }, `Token ${accepted + 1} `, el("code", {}, visible(rejected.text)), " is rejected", ...after, "."),
      el("p", {}, "Expected: ", rejected.expected ? el("code", {}, short(rejected.expected, 300)) : "the end of the answer, or a special token"),
      el("details", {}, el("summary", {}, "Open parts of the grammar"), el("pre", {}, [...rejected.items, ...(rejected.more_items ? [`${rejected.more_items} more`] : [])].join("\n"))),
    ];
  }

  // -- start
  const showDrawing = tabs(document.querySelector("#view-playground [role=tablist]"), (name) => { byId("rule-label").hidden = name !== "drawing"; });
  options(byId("example"), EXAMPLES.map((each, at) => [String(at), each.name]));
  options(format, [["", "the model's"]]);
  const soon = later(PAUSE, changed);
  const soonTrace = later(PAUSE, () => run());
  source.addEventListener("input", () => { paint([]); soon(); });
  source.addEventListener("scroll", follow);
  output.addEventListener("input", soonTrace);
  for (const each of [kind, format, byId("choice"), byId("strict")]) each.addEventListener("change", changed);
  byId("example").addEventListener("change", takeExample);
  rule.addEventListener("change", () => chooseRule(rule.value));

  async function start() {
    try {
      // any model's vocabulary will do; the request must name one where there are several
      model = (await get("/v1/models")).data[0]?.id ?? null;
    } catch (error) { failed(error); return; }
    isStarted = true;
    if (source.value) changed(); else takeExample();
  }
  return {
    show(on) { if (on && !isStarted) start(); },
    reload: start,
  };
}
