// A chat over each API: a request from the fields, its answer while it arrives, and the events as they are.

import { ApiError, get, keys, send } from "/ui/api.js";
import { APIS, curl, python } from "/ui/chat_apis.js";
import { messageImages, takeImages } from "/ui/chat_images.js";
import { byId, el, fill, options } from "/ui/dom.js";
import { CHAT_TOOLS } from "/ui/examples.js";
import { locate, parse, pointerOf } from "/ui/json_text.js";
import { events } from "/ui/sse.js";

// characters of raw events that are shown: the last ones of a long answer
const MOST_RAW = 200_000;
const PROGRAMS = { curl, python };
const ROLES = ["system", "user", "assistant", "tool"];
// whose messages may have images
const SHOWING = ["user", "tool"];

// fields of the page by parameter of the request
const FIELDS = { tools: "tools", response_format: "response-format", tool_choice: "chat-choice", max_completion_tokens: "max-tokens", temperature: "temperature", model: "model", max_output_tokens: "max-tokens", max_tokens: "max-tokens", output_config: "response-format" };

// Return the value of a field with JSON; undefined: it is empty
function json(id, title) {
  const field = byId(id);
  if (!field.value.trim()) return undefined;
  try {
    return parse(field.value).value;
  } catch (error) {
    throw Object.assign(error, { message: `${title}: ${error.message}`, field });
  }
}

// Return the field that an error is about, and the range in it
function placeOf(error, messages, api) {
  if (error.field) return { field: error.field, range: error.range };
  const [, first, ...rest] = api.pointer(pointerOf(error.param ?? "")).split("/");
  if (first === "messages") return { field: messages.children[Number(rest[0])]?.querySelector("textarea") };
  const field = Object.hasOwn(FIELDS, first) ? byId(FIELDS[first]) : null;
  if (!field?.matches("textarea")) return { field };
  try {
    // messages about schemas name the place in them
    const inside = /: at (\/.*?): /.exec(error.message)?.[1] ?? "";
    const path = rest.map((step) => `/${step}`).join("");
    const schema = first === "response_format" && inside && !path.endsWith("/schema") ? "/json_schema/schema" : "";
    const pointer = path + schema + inside;
    return { field, range: locate(parse(field.value).places, pointer) };
  } catch { return { field }; }
}

function problem(error, messages, api) {
  const { field, range } = placeOf(error, messages, api);
  const go = () => {
    field.focus();
    if (range) field.setSelectionRange(...range);
  };
  return el("p", { class: "bad-text" }, error.message, " ",
    field ? el("button", { type: "button", class: "link", onclick: go }, error.param ? `Show ${error.param}` : "Show the place") : error.param ? el("code", {}, error.param) : null);
}

export function startChat() {
  const messages = byId("messages");
  let answer = null;
  let running = null;
  let raw = "";
  let isStarted = false;
  let painting = 0;
  const api = () => APIS[byId("api").value];

  // -- messages
  function addMessage(role, content, kept = null) {
    const menu = el("select", {}, ...ROLES.map((each) => el("option", { value: each, selected: each === role }, each)));
    const text = el("textarea", { rows: 2 });
    text.value = content;
    const images = messageImages(program, () => text.focus());
    const box = el("div", { class: "message" }, el("div", { class: "row" }, menu, kept ? el("span", { class: "muted" }, kept.tool_calls ? `${kept.tool_calls.length} calls` : kept.tool_call_id ?? "") : null, el("span", { class: "grow" }),
      images.button, el("button", { type: "button", class: "quiet remove", onclick: () => remove(box) }, "Remove")), text, ...images.elements);
    box.images = images;
    box.read = (isShown) => {
      const written = images.content(text.value, isShown);
      if (written !== text.value && !SHOWING.includes(menu.value)) throw Object.assign(new Error(`Only messages of ${SHOWING.join(" and ")} can have images`), { field: menu });
      return { ...kept, role: menu.value, content: written };
    };
    text.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(); });
    text.addEventListener("paste", (event) => takeImages(event, event.clipboardData, () => images));
    messages.append(box);
    number();
    return text;
  }

  function remove(box) {
    const next = box.nextElementSibling ?? box.previousElementSibling;
    box.images.clear();
    box.remove();
    number();
    (next?.querySelector("textarea") ?? byId("add-message")).focus();
  }

  function number() {
    [...messages.children].forEach((box, at) => {
      box.querySelector("select").setAttribute("aria-label", `Role of message ${at + 1}`);
      box.querySelector("textarea").setAttribute("aria-label", `Message ${at + 1}`);
      box.querySelector(".remove").setAttribute("aria-label", `Remove message ${at + 1}`);
      box.images.button.setAttribute("aria-label", `Add images to message ${at + 1}`);
      box.images.list.setAttribute("aria-label", `Images of message ${at + 1}`);
    });
  }

  function keep() {
    const calls = answer.calls.filter(Boolean);
    addMessage("assistant", answer.content, calls.length ? { tool_calls: calls } : null);
    for (const call of calls) addMessage("tool", "", { tool_call_id: call.id });
    if (!calls.length) addMessage("user", "");
    byId("keep").disabled = true;
    messages.lastElementChild.querySelector("textarea").focus();
  }

  // isShown: for a reader, see messageImages
  function request(isShown = false) {
    const temperature = byId("temperature").value;
    return api().body({
      model: byId("model").value, messages: [...messages.children].map((each) => each.read(isShown)),
      most: Number(byId("max-tokens").value) || 512,
      temperature: temperature === "" ? undefined : Number(temperature),
      tools: json("tools", "Tools"), choice: byId("chat-choice").value,
      format: json("response-format", "Response format"), stream: byId("stream").checked,
    });
  }

  // the request as a program; a field that is no JSON is named when it is sent
  function program() {
    try {
      byId("program").textContent = PROGRAMS[byId("language").value](api(), request(true), keys.client !== "");
    } catch (error) { byId("program").textContent = error.message; }
  }

  // -- running
  async function run() {
    if (running) return;
    const mine = new AbortController();
    running = mine;
    raw = "";
    answer = { content: "", reasoning: "", calls: [], usage: null, finish: null, isWhole: false, api: api(), started: performance.now(), first: null, ended: null, error: null };
    state("", "waiting");
    try {
      const body = request();
      const got = await send(answer.api.path, body, mine.signal);
      if (body.stream) await stream(got);
      else whole(await got.text());
      if (answer.error) state("bad", "error");
      else if (answer.isWhole) state("good", answer.finish ?? "ended");
      else state("warn", "cut off");
    } catch (error) {
      if (error.name === "AbortError") state("warn", "stopped");
      else { answer.error = error; state("bad", error.status ? `error ${error.status}` : "error"); }
    } finally {
      answer.ended = performance.now();
      running = null;
      byId("send").disabled = false;
      byId("stop").disabled = true;
      byId("keep").disabled = !(answer.content || answer.calls.length);
      paint();
    }
  }

  function state(tone, text) {
    const badge = byId("chat-state");
    badge.className = `badge ${tone}`;
    badge.textContent = text;
    byId("send").disabled = running !== null;
    byId("stop").disabled = running === null;
  }

  async function stream(got) {
    for await (const data of events(got.body, (text) => { raw += text; paintSoon(); })) {
      if (data === "[DONE]") { answer.isWhole = true; break; }
      read(JSON.parse(data));
      if (answer.error) break;
    }
  }

  function whole(text) {
    raw = text;
    read(JSON.parse(text));
  }

  function read(event) {
    const { error, usage, isWhole, delta, deltas = [delta ?? {}], finish_reason: finish } = answer.api.read(event);
    if (error) answer.error = new ApiError(error.code ?? 500, error);
    if (usage) answer.usage = usage;
    answer.isWhole ||= isWhole ?? false;
    for (const each of deltas) take(each, finish);
  }

  function take(delta, finish) {
    const calls = delta.tool_calls ?? [];
    if (answer.first === null && (delta.content || delta.reasoning_content || calls.length)) {
      answer.first = performance.now();
      state("", "answering");
    }
    answer.content += delta.content ?? "";
    answer.reasoning += delta.reasoning_content ?? "";
    for (const call of calls) merge(call);
    if (finish) answer.finish = finish;
    paintSoon();
  }

  function merge({ index, ...call }) {
    const known = (answer.calls[index] ??= { id: call.id, type: call.type ?? "function" });
    for (const [part, text] of [["function", "arguments"], ["custom", "input"]]) {
      if (!call[part]) continue;
      known[part] ??= { name: call[part].name, [text]: "" };
      known[part][text] += call[part][text] ?? "";
    }
  }

  // -- showing; at most once per frame
  function paintSoon() { if (!painting) painting = requestAnimationFrame(paint); }

  function paint() {
    cancelAnimationFrame(painting);
    painting = 0;
    const part = (title, text, kind) => (text ? el("section", { class: `part ${kind}` }, el("h3", {}, title), el("pre", {}, text)) : null);
    const calls = answer.calls.filter(Boolean).map((call) => {
      const made = call.function ?? call.custom;
      return el("section", { class: "part call" }, el("h3", {}, `Call: ${made?.name ?? ""} `, el("span", { class: "muted" }, call.id ?? "")), el("pre", {}, made?.arguments ?? made?.input ?? ""));
    });
    fill(byId("answer"), answer.error ? problem(answer.error, messages, answer.api) : null,
      part("Reasoning", answer.reasoning, "reasoning"), part("Content", answer.content, "content"), ...calls);
    fill(byId("usage"), ...figures());
    const box = byId("raw");
    const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    box.textContent = raw.slice(-MOST_RAW);
    byId("raw-note").textContent = raw.length > MOST_RAW ? `the last ${MOST_RAW.toLocaleString("en")} of ${raw.length.toLocaleString("en")} characters` : "";
    if (isAtEnd) box.scrollTop = box.scrollHeight;
  }

  function figures() {
    const figure = (name, value) => el("div", { class: "figure" }, el("span", { class: "muted" }, name), el("strong", {}, value));
    const { usage, first, started, ended } = answer;
    const made = [];
    if (first !== null && byId("stream").checked) made.push(figure("First token", `${Math.round(first - started)} ms`));
    if (ended !== null) made.push(figure("Time", `${Math.round(ended - started)} ms`));
    if (usage) {
      made.push(figure("Prompt", `${usage.prompt}`), figure("Output", `${usage.output}`));
      if (usage.reasoning) made.push(figure("Reasoning", `${usage.reasoning}`));
      const seconds = first === null || ended === null ? 0 : (ended - first) / 1000;
      if (seconds > 0.001 && usage.output > 1 && byId("stream").checked) made.push(figure("Rate", `${Math.round((usage.output - 1) / seconds)}/s`));
    }
    return made;
  }

  // -- start
  addMessage("user", "What is the weather in Oslo?");
  byId("tools").value = JSON.stringify(CHAT_TOOLS, null, 2);
  byId("add-message").addEventListener("click", () => addMessage("user", "").focus());
  byId("send").addEventListener("click", run);
  byId("stop").addEventListener("click", () => running?.abort());
  byId("keep").addEventListener("click", keep);
  const view = byId("view-chat");
  for (const kind of ["input", "change", "click"]) view.addEventListener(kind, program);
  view.addEventListener("dragover", (event) => { if (event.dataTransfer.types.includes("Files")) event.preventDefault(); });
  view.addEventListener("drop", (event) => takeImages(event, event.dataTransfer, () => {
    const box = event.target.closest(".message") ?? messages.lastElementChild ?? addMessage("user", "").closest(".message");
    return box.images;
  }));

  async function start() {
    try {
      options(byId("model"), (await get("/v1/models")).data.map((each) => [each.id, each.id]));
      program();
      isStarted = true;
    } catch (error) { fill(byId("answer"), el("p", { class: "bad-text" }, error.message)); }
  }
  return {
    show(on) { if (on && !isStarted) start(); },
    reload: start,
  };
}
