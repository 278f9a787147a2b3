// The state of the gateway, from /health/ready, /debug/requests, /metrics and /version.

import { ApiError, get, keys } from "/ui/api.js";
import { byId, el, fill, short, table } from "/ui/dom.js";
import { mean, parse, rate, sum } from "/ui/metrics.js";

const EVERY = 2000;
// rows of the table of recent requests; /debug/requests has up to 200
const MOST_RECENT = 50;
// routes that this page and probes ask for: they are no traffic
const OWN = /^\/(health|metrics|version|debug|ui|docs|v1\/models)/;
const TONES = { ok: "good", available: "good", degraded: "warn", draining: "warn" };

const ms = (value) => (value === undefined || value === null ? "–" : value > 0 && value < 0.1 ? `${Math.round(value * 1000)} µs` : value < 10 ? `${value.toFixed(1)} ms` : value < 10000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`);
const number = (value, digits = 0) => (value === null || value === undefined ? "–" : value.toLocaleString("en", { maximumFractionDigits: digits }));
const badge = (text) => el("span", { class: `badge ${TONES[text] ?? "bad"}` }, text);

function figure(name, value, detail = "") {
  return el("div", { class: "figure" }, el("span", { class: "muted" }, name), el("strong", {}, value), el("span", { class: "muted" }, detail));
}

function figures(now, before) {
  const samples = now.samples;
  const isTraffic = (labels) => !OWN.test(labels.route ?? "");
  const isOutput = (labels) => labels.kind === "completion";
  const second = (value) => (value === null ? "–" : `${number(value, 1)}/s`);
  const first = mean(samples, "time_to_first_token_seconds");
  const token = mean(samples, "time_per_output_token_seconds");
  const lag = mean(samples, "event_loop_lag_seconds");
  const compile = mean(samples, "compile_seconds");
  const requests = sum(samples, "http_requests_total", isTraffic);
  return [
    figure("Requests", second(rate(now, before, "http_requests_total", isTraffic)), `${number(requests)} in all`),
    figure("Output tokens", second(rate(now, before, "tokens_total", isOutput)), `${number(sum(samples, "tokens_total", isOutput))} in all`),
    figure("Running", number(sum(samples, "admission", (l) => l.what === "running")), `${number(sum(samples, "admission", (l) => l.what === "waiting"))} queued`),
    figure("First token", first === null ? "–" : ms(first * 1000), "mean since start"),
    figure("Per token", token === null ? "–" : ms(token * 1000), "mean since start"),
    figure("Compile", compile === null ? "–" : ms(compile * 1000), "mean since start"),
    figure("Loop lag", lag === null ? "–" : ms(lag * 1000), "mean since start"),
  ];
}

function grammars(samples) {
  const of = (what) => number(sum(samples, "compiler", (labels) => labels.what === what));
  const rows = [
    ["compiled", of("compiles")], ["found compiled", of("grammar_hits")], ["kept", of("grammars")],
    ["refused", of("refused")], ["token masks made", of("token_mask_made")],
    ["token masks found", of("token_mask_hits")],
  ];
  return counts(rows);
}

const counts = (rows) => el("dl", {}, ...rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
const pairs = (object) => counts(Object.entries(object).map(([name, value]) => [name.replaceAll("_", " "), number(value)]));

function workers(list) {
  return table(
    [["Worker", ""], ["Model", ""], ["State", ""], ["Circuit", ""], ["Running", "number"], ["Answers", "number"], ["Failures", "number"], ["Detail", "text"]],
    list.map((w) => [w.half ? `${w.name} (${w.half})` : w.name, w.model, badge(w.state), w.circuit, number(w.running), number(w.answers), number(w.failures), short(w.reason || w.description, 160)]),
    "No workers.");
}

function running(list) {
  return table(
    [["Request", "code"], ["Phase", ""], ["Age", "number"], ["Model", ""], ["Key", ""], ["Worker", ""], ["Tokens", "number"]],
    list.map((r) => [short(r.id, 40), r.phase, ms(r.age_ms), r.model, r.key, r.workers?.join(", "), number(r.completion_tokens ?? 0)]),
    "No request is running.");
}

function recent(list) {
  return table(
    [["Request", "code"], ["Route", "code"], ["Status", "number"], ["Time", "number"], ["Queue", "number"], ["First token", "number"], ["Per token", "number"], ["Prompt", "number"], ["Output", "number"], ["End", ""]],
    list.slice(0, MOST_RECENT).map((r) => [short(r.id, 40), r.route, el("span", { class: r.status < 400 ? "" : "bad-text" }, String(r.status)), ms(r.ms), ms(r.queue_ms), ms(r.first_token_ms), ms(r.token_ms), number(r.prompt_tokens), number(r.completion_tokens), r.error ?? r.finish_reasons?.join(", ")]),
    "No requests yet.");
}

// HAProxy hides /metrics, which would be those of an arbitrary replica
const metrics = () => get("/metrics", { text: true }).catch((error) => {
  if (error.status === 404 || error.status === 403) return null;
  throw error;
});

// Replace a part of the page, unless its reader has selected text in it
function refill(name, ...children) {
  const box = byId(name);
  const selection = getSelection();
  if (selection.isCollapsed || !box.contains(selection.anchorNode)) fill(box, ...children);
}

const said = (text) => el("p", { class: "muted empty" }, text);

export function startStatus() {
  let isShown = false;
  let isBusy = false;
  let before = null;
  let version = null;
  let refusedKey = null;

  // null: no key, or one that the gateway refused, which is not sent again
  async function requestsOf() {
    if (!keys.operator || keys.operator === refusedKey) return null;
    try {
      return await get("/debug/requests", { operator: true });
    } catch (error) {
      if (error.status !== 401 && error.status !== 403) throw error;
      refusedKey = keys.operator;
      return null;
    }
  }

  async function refresh() {
    if (isBusy || document.hidden) return;
    isBusy = true;
    try {
      version ??= await get("/version");
      const [health, text, requests] = await Promise.all([
        get("/health/ready", { operator: true, any: true }), metrics(), requestsOf(),
      ]);
      if (!health.status) throw new ApiError(503, health.error);
      paint(health, text === null ? null : { at: performance.now(), samples: parse(text) }, requests);
    } catch (error) {
      state("bad", "no answer", before ? `${error.message} The numbers are those of ${before.clock}.` : error.message);
    } finally {
      isBusy = false;
    }
  }

  function state(tone, text, detail) {
    const badge = byId("state");
    if (badge.textContent !== text) badge.textContent = text;
    badge.className = `badge ${tone}`;
    byId("state-detail").textContent = detail;
  }

  function paint(health, now, requests) {
    const process = requests ? ` · process ${requests.process}` : "";
    state(TONES[health.status] ?? "bad", health.status, `version ${version.version} · ${version.formats.join(", ")}${process}`);
    if (now) {
      refill("figures", ...figures(now, before));
      refill("grammars", grammars(now.samples));
      before = { ...now, clock: new Date().toLocaleTimeString() };
    } else {
      refill("figures", el("div", { class: "figure" }, el("span", { class: "muted" }, "This address does not show metrics.")));
      refill("grammars", said("This address does not show metrics."));
    }
    const closed = () => said(keys.operator ? "The gateway does not accept the operator key." : "Enter an operator key (Keys) to see this.");
    refill("workers", health.workers ? workers(health.workers) : closed());
    refill("running", requests ? running(requests.running) : closed());
    refill("recent", requests ? recent(requests.recent) : closed());
    refill("cache", !("workers" in health) ? closed() : health.cache ? pairs(health.cache) : said("No Redis: this gateway shares nothing."));
  }

  setInterval(() => { if (isShown && byId("refresh").checked) refresh(); }, EVERY);
  return {
    show(on) { isShown = on; if (on) refresh(); },
    reload() { refusedKey = null; refresh(); },
  };
}
