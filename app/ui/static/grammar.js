// The panel of a grammar: the drawing of a rule or of all rows, the list of rules, the structural tag.

import { byId, el, fill, options, short, table } from "/ui/dom.js";
import { draw } from "/ui/graph.js";
import { parse } from "/ui/json_text.js";
import { tabs } from "/ui/tabs.js";

// onRule gets the name of the rule to draw; "": all rows
export function grammarPanel(onRule) {
  const rule = byId("rule");
  const showTab = tabs(document.querySelector("#view-playground [role=tablist]"), (name) => { byId("rule-label").hidden = name !== "drawing"; });
  rule.addEventListener("change", () => onRule(rule.value));

  const bounds = (each) => (each.kind === "counted" || each.kind === "bounded" ? ` ${each.minimum}..${each.maximum ?? ""}` : "");

  function rulesOf(grammar) {
    const rows = grammar.rules.map((each) => [
      el("button", { type: "button", class: "link", disabled: each.states === 0, onclick: () => { showTab("drawing", true); onRule(each.name); } }, short(each.name, 60)),
      each.kind + bounds(each), each.automaton, String(each.states), each.text.slice(each.text.indexOf("->") + 3),
    ]);
    return table([["Rule", "code"], ["Kind", ""], ["Automaton", ""], ["States", "number"], ["Start", "code text"]], rows, "No rules.");
  }

  function pretty(text) {
    try { return JSON.stringify(parse(text).value, null, 2); } catch { return text; }
  }

  function note(grammar) {
    const { drawing } = grammar;
    if (!drawing) return "";
    const left = [[drawing.hidden_nodes, "states"], [drawing.hidden_edges, "edges"]].filter(([count]) => count);
    const hidden = left.length ? ` · not drawn: ${left.map(([count, what]) => `${count} ${what}`).join(", ")}` : "";
    return `${grammar.rules.length + grammar.more_rules} rules${hidden}`;
  }

  // of a wide drawing, the start lies in the middle
  function showStart(box) {
    const start = box.querySelector(".start");
    if (start) box.scrollTop += start.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 2;
  }

  return {
    show(grammar, chosen) {
      const drawn = grammar.rules.filter((each) => each.states > 0);
      options(rule, [["", "all (rows)"], ...drawn.map((each) => [each.name, short(each.name, 48)])]);
      rule.value = chosen ?? "";
      byId("grammar-note").textContent = note(grammar);
      fill(byId("node"), grammar.drawing ? "Point at a state, or move with the arrow keys, to see its place in the grammar." : "");
      fill(byId("drawing"), grammar.drawing
        ? draw(grammar.drawing, (node) => fill(byId("node"), `${node.title}${node.is_final ? " (final)" : ""}\n${node.lines.join("\n")}`))
        : el("p", { class: "muted empty" }, "The grammar is too large to draw."));
      showStart(byId("drawing"));
      fill(byId("rules"), rulesOf(grammar), grammar.more_rules ? el("p", { class: "muted" }, `${grammar.more_rules} more rules`) : null);
      fill(byId("spec"), pretty(grammar.spec), grammar.more_spec ? `\n… ${grammar.more_spec} more characters` : "");
    },
    clear() {
      fill(byId("drawing"), el("p", { class: "muted empty" }, "No grammar."));
      for (const name of ["rules", "spec", "node"]) fill(byId(name));
      byId("grammar-note").textContent = "";
      options(rule, [["", "all (rows)"]]);
    },
  };
}
