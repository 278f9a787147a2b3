// The playground: a constraint, the findings about it, its grammar, and an output that is tried.

import { ApiError, get, post } from "/ui/api.js";
import { byId, el, fill, later, options, short } from "/ui/dom.js";
import { editor } from "/ui/editor.js";
import { EXAMPLES } from "/ui/examples.js";
import { enforced, findingsOf } from "/ui/findings.js";
import { grammarPanel } from "/ui/grammar.js";
import { JsonError, locate, parse, pointerOf } from "/ui/json_text.js";
import { tokenList } from "/ui/tokens.js";
import { clearTrace, showTrace } from "/ui/trace.js";

// pause after the last key before the gateway is asked, in milliseconds
const PAUSE = 250;
// time after which the page says that it waits, in milliseconds
const PATIENCE = 300;
// the constraint in the request, by kind of input
const PREFIX = { schema: "/response_format/json_schema/schema", tools: "/tools" };
const MOST_FINDINGS = 100;
const MODELS = "the model's";

function requestOf(kind, value, { isStrict, format, choice, output, model }) {
  const common = { ...(model ? { model } : {}), output, ...(format ? { format } : {}) };
  if (kind === "schema") {
    const described = { name: "answer", schema: value, ...(isStrict ? { strict: true } : {}) };
    return { ...common, response_format: { type: "json_schema", json_schema: described } };
  }
  const tools = Array.isArray(value) ? value : [value];
  const chosen = isStrict ? tools.map((tool) => (tool?.function ? { ...tool, function: { ...tool.function, strict: true } } : tool)) : tools;
  return { ...common, tools: chosen, tool_choice: choice };
}

const looksLikeTools = (value) => Array.isArray(value) || (value?.type === "function" && "function" in value);

export function startPlayground() {
  const [source, output, kind, format, model] = ["source", "output", "kind", "format", "playground-model"].map(byId);
  const text = editor(source, byId("source-marks"));
  let isStarted = false;
  let running = null;
  let places = new Map();
  let rule = null;
  let isRuleChosen = false;
  const tokens = tokenList(byId("tokens"), (at) => run({ at }));
  const grammar = grammarPanel((name) => {
    rule = name || null;
    isRuleChosen = true;
    run();
  });

  // -- input
  function enterExample() {
    const example = EXAMPLES[Number(byId("example").value)];
    kind.value = example.kind;
    source.value = JSON.stringify(example.source, null, 2);
    output.value = example.output;
    byId("strict").checked = example.strict ?? false;
    if (example.format) setFormat(example.format);
    showChoice();
  }

  // tools alone have a choice
  function showChoice() { byId("choice-label").hidden = kind.value !== "tools"; }

  function setFormat(name) {
    if (![...format.options].some((each) => each.value === name)) format.append(el("option", { value: name }, name));
    format.value = name;
  }

  // another grammar: its rules have other names
  function changed() {
    isRuleChosen = false;
    rule = null;
    run();
  }

  function pasted() {
    let value;
    try { ({ value } = parse(source.value)); } catch { return; }
    if (kind.value === "schema" && looksLikeTools(value)) { kind.value = "tools"; changed(); }
  }

  function indent() {
    try { source.value = JSON.stringify(parse(source.value).value, null, 2); } catch { /* run names the error */ }
    run();
  }

  // -- asking
  async function run({ at } = {}) {
    showChoice();
    running?.abort();
    const mine = new AbortController();
    running = mine;
    const waiting = setTimeout(() => { if (running === mine) busy(true); }, PATIENCE);
    try {
      const read = parse(source.value);
      places = read.places;
      const settings = { isStrict: byId("strict").checked, format: format.value, choice: byId("choice").value, output: output.value, model: model.value };
      const body = { ...requestOf(kind.value, read.value, settings), ...(at >= 0 ? { at } : {}), ...(rule ? { rule } : {}) };
      show(await post("/v1/grammars/explain", body, mine.signal));
    } catch (error) {
      if (running !== mine || error.name === "AbortError") return;
      if (error.param === "rule") changed();
      else failed(error);
    } finally {
      clearTimeout(waiting);
      if (running === mine) busy(false);
    }
  }

  function busy(is) {
    byId("view-playground").setAttribute("aria-busy", String(is));
    if (is) verdict("", "checking…");
  }

  function verdict(tone, said) {
    const badge = byId("verdict");
    badge.className = `badge ${tone}`;
    badge.textContent = said;
  }

  function failed(error) {
    if (error instanceof JsonError) {
      verdict("bad", "not JSON");
      list([{ tone: "bad", title: "Not JSON", text: error.message, range: error.range }], "");
    } else {
      verdict("bad", { 0: "no answer", 401: "key needed" }[error.status] ?? "failed");
      const said = error.status === 401 ? "Enter the API key of this gateway (Keys)." : error.message;
      const again = error.status === 0 || error.status >= 429 ? el("button", { type: "button", onclick: () => run() }, "Try again") : null;
      list([{ tone: "bad", title: "Error", text: said, pointer: error.param ? pointerOf(error.param) : null, extra: again }], "");
    }
    noGrammar();
  }

  // -- findings
  function rangeOf(pointer) {
    const prefix = PREFIX[kind.value];
    if (!pointer?.startsWith(prefix)) return null;
    const inside = pointer.slice(prefix.length);
    return locate(places, kind.value === "tools" && !source.value.trimStart().startsWith("[") ? inside.replace(/^\/0/, "") : inside);
  }

  function list(found, enforcedText) {
    const marks = [];
    const items = found.slice(0, MOST_FINDINGS).map((each) => {
      const range = each.range ?? rangeOf(each.pointer);
      if (range && each.tone !== "note") marks.push({ range, tone: each.tone });
      const label = each.range ? "show" : each.pointer?.slice(PREFIX[kind.value].length) || "/";
      const jump = range && el("button", { type: "button", class: "link", title: "Select this place in the constraint", onclick: () => text.select(range) }, short(label, 120));
      return el("li", { class: each.tone }, el("strong", {}, each.title), " ", jump, " ", el("span", {}, short(each.text, 600)), " ", each.extra);
    });
    if (found.length > MOST_FINDINGS) items.push(el("li", { class: "note" }, `${found.length - MOST_FINDINGS} more`));
    if (enforcedText) items.push(el("li", { class: "good" }, el("strong", {}, "Enforced"), " ", el("span", {}, enforcedText)));
    fill(byId("findings"), ...items);
    text.mark(marks);
  }

  // -- answers
  function show(answer) {
    options(format, [["", `${MODELS}${format.value ? "" : ` (${answer.format})`}`], ...answer.formats.map((name) => [name, name])]);
    const found = findingsOf(answer);
    if (answer.error) verdict("bad", "refused");
    else if (found.some((each) => each.tone === "warn")) verdict("warn", "relaxed");
    else verdict("good", "enforced");
    list(found, enforced(answer));
    if (!answer.grammar) { noGrammar(); return; }
    if (!isRuleChosen) {
      // an object's automaton shows its members; rows show single bytes
      const drawn = answer.grammar.rules.filter((each) => each.states > 0);
      rule = (drawn.find((each) => each.kind === "object") ?? drawn[0])?.name ?? null;
      isRuleChosen = true;
      if (rule) { run(); return; }
    }
    grammar.show(answer.grammar, rule);
    if (answer.trace) { tokens.show(answer.trace); showTrace(answer.trace); }
  }

  function noGrammar() {
    tokens.clear();
    clearTrace();
    grammar.clear();
  }

  // -- start
  options(byId("example"), EXAMPLES.map((each, at) => [String(at), each.name]));
  options(format, [["", MODELS]]);
  const soon = later(PAUSE, () => run());
  source.addEventListener("input", (event) => {
    text.mark([]);
    if (event.inputType === "insertFromPaste") pasted();
    soon();
  });
  output.addEventListener("input", soon);
  byId("indent").addEventListener("click", indent);
  model.addEventListener("change", () => { format.value = ""; changed(); });
  for (const each of [kind, format, byId("choice"), byId("strict")]) each.addEventListener("change", changed);
  byId("example").addEventListener("change", () => { enterExample(); changed(); });
  enterExample();

  async function start() {
    try {
      const names = (await get("/v1/models")).data.map((each) => each.id);
      options(model, names.map((name) => [name, name]));
      byId("playground-model-label").hidden = names.length < 2;
    } catch (error) { failed(error); return; }
    isStarted = true;
    changed();
  }
  return {
    show(on) { if (on && !isStarted) start(); },
    reload: start,
  };
}
