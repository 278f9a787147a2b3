// The APIs of the chat: each writes the page's fields as its own request, and reads events and whole answers as
// deltas of chat completions.
//
// body(fields)  fields: model, messages, tools, choice, format, most (tokens), temperature, stream; messages, tools
//               and format have the shapes of chat completions; images are data URLs
// read(event)   returns {delta, finish_reason, usage: {prompt, output, reasoning}, error, isWhole}, or parts of it
// pointer(path) the path of an error in the shapes of chat completions

import { fileOf, MARKED } from "/ui/chat_images.js";
import { parse } from "/ui/json_text.js";

const optional = (name, value) => (value === undefined ? {} : { [name]: value });

// what is no array is the gateway's to refuse
const eachOf = (tools, change) => (Array.isArray(tools) ? tools.map(change) : tools);

// the text of a call that was cut off is no JSON
function inputOf(call) {
  try { return parse(call.function.arguments).value; } catch { return {}; }
}

// a format with the fields of its schema beside its type; what an API does not know is the gateway's to refuse
const flat = ({ json_schema: described, ...more }) => ({ ...more, ...described });

// a content, text or parts, with its parts in the words of an API
const changed = (content, change) => (Array.isArray(content) ? content.map(change) : content);

// -- Chat Completions

const completions = {
  path: "/v1/chat/completions",
  client: "openai.OpenAI", method: "chat.completions.create",
  body: ({ model, messages, tools, choice, format, most, temperature, stream }) => ({
    model, messages, max_completion_tokens: most,
    ...optional("temperature", temperature),
    ...(tools === undefined ? {} : { tools, tool_choice: choice }),
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...optional("response_format", format),
  }),
  read({ choices, usage, error, object }) {
    const { delta, message, finish_reason } = choices?.[0] ?? {};
    const calls = message?.tool_calls?.map((call, index) => ({ ...call, index }));
    return {
      error, finish_reason, isWhole: object === "chat.completion",
      delta: delta ?? (message && { ...message, tool_calls: calls }),
      usage: usage && { prompt: usage.prompt_tokens, output: usage.completion_tokens, reasoning: usage.completion_tokens_details?.reasoning_tokens },
    };
  },
  pointer: (path) => path,
};

// -- Responses

const inputPart = ({ type, text, image_url: image }) => (type === "text" ? { type: "input_text", text } : { type: "input_image", image_url: image.url, detail: "auto" });

// custom: ids of calls of custom tools, whose results are other items
function itemsOf({ role, content, tool_calls: calls = [], tool_call_id: id }, custom) {
  if (id) return [{ type: custom.includes(id) ? "custom_tool_call_output" : "function_call_output", call_id: id, output: changed(content, inputPart) }];
  const items = calls.map((call) => (call.custom ? { type: "custom_tool_call", call_id: call.id, ...call.custom } : { type: "function_call", call_id: call.id, ...call.function }));
  return content || !calls.length ? [{ role, content: changed(content, inputPart) }, ...items] : items;
}

// the delta of an item of the output: of its beginning, or of all of it
function deltaOf(item, index) {
  const { call_id: id, name } = item;
  if (item.type === "function_call") return { tool_calls: [{ index, id, function: { name, arguments: item.arguments } }] };
  if (item.type === "custom_tool_call") return { tool_calls: [{ index, id, type: "custom", custom: { name, input: item.input } }] };
  const text = (item.content ?? []).map((part) => part.text ?? "").join("");
  return item.type === "reasoning" ? { reasoning_content: text } : { content: text };
}

function ended({ status, usage, error, incomplete_details: details }) {
  return {
    error, finish_reason: details?.reason ?? status, isWhole: true,
    usage: usage && { prompt: usage.input_tokens, output: usage.output_tokens, reasoning: usage.output_tokens_details?.reasoning_tokens },
  };
}

const responses = {
  path: "/v1/responses",
  client: "openai.OpenAI", method: "responses.create",
  body({ model, messages: all, tools, choice, format, most, temperature, stream }) {
    const custom = all.flatMap(({ tool_calls: calls = [] }) => calls.filter((call) => call.custom).map(({ id }) => id));
    return {
      model, input: all.flatMap((each) => itemsOf(each, custom)), max_output_tokens: most, store: false,
      ...optional("temperature", temperature),
      ...(tools === undefined ? {} : { tools: eachOf(tools, ({ function: made, custom: own, ...more }) => ({ ...more, ...made, ...own })), tool_choice: choice }),
      ...(stream ? { stream: true } : {}),
      ...(format === undefined ? {} : { text: { format: flat(format) } }),
    };
  },
  read(event) {
    const { type, delta, output_index: index } = event;
    if (event.object === "response") return { ...ended(event), deltas: event.output.map(deltaOf) };
    switch (type) {
      case "response.output_item.added": return { delta: deltaOf(event.item, index) };
      case "response.output_text.delta": return { delta: { content: delta } };
      case "response.reasoning_text.delta": return { delta: { reasoning_content: delta } };
      case "response.function_call_arguments.delta": return { delta: { tool_calls: [{ index, function: { arguments: delta } }] } };
      case "response.custom_tool_call_input.delta": return { delta: { tool_calls: [{ index, custom: { input: delta } }] } };
      case "response.completed": case "response.incomplete": case "response.failed": return ended(event.response);
      default: return {};
    }
  },
  pointer: (path) => path.replace(/^\/text\/format\/schema/, "/response_format/json_schema/schema").replace(/^\/text\/format/, "/response_format").replace(/^\/tools\/(\d+)\//, "/tools/$1/function/"),
};

// -- Messages

const CHOICES = { required: "any" };

// schemas have no name here, and are always enforced
const formatOf = ({ name, description, strict, ...format }) => format;

function toolOf({ function: made, ...own }) {
  if (!made) return own;
  const { parameters = { type: "object" }, ...more } = made;
  return { ...more, input_schema: parameters };
}

function blockOfPart(part) {
  if (part.type === "text") return part;
  const [head, data] = part.image_url.url.split(",");
  return { type: "image", source: { type: "base64", media_type: head.slice("data:".length, -";base64".length), data } };
}

function blocksOf({ content: written, tool_calls: calls = [], tool_call_id: id }) {
  const content = changed(written, blockOfPart);
  if (id) return [{ type: "tool_result", tool_use_id: id, content }];
  if (Array.isArray(content)) return content;
  const uses = calls.filter((call) => call.function).map((call) => ({ type: "tool_use", id: call.id, name: call.function.name, input: inputOf(call) }));
  return content ? [{ type: "text", text: content }, ...uses] : uses;
}

const said = ({ input_tokens: own = 0, cache_read_input_tokens: read = 0, cache_creation_input_tokens: made = 0, output_tokens: output, output_tokens_details: details }) => (
  { prompt: own + read + made, output, reasoning: details?.thinking_tokens });

function blockOf(block, index) {
  if (block.type === "tool_use") return { tool_calls: [{ index, id: block.id, function: { name: block.name, arguments: "" } }] };
  return block.type === "thinking" ? { reasoning_content: block.thinking } : { content: block.text };
}

function partOf({ type, text, thinking, partial_json: json }, index) {
  if (type === "input_json_delta") return { tool_calls: [{ index, function: { arguments: json } }] };
  return type === "thinking_delta" ? { reasoning_content: thinking } : { content: text };
}

function wholeBlock(block, index) {
  const delta = blockOf(block, index);
  if (delta.tool_calls) delta.tool_calls[0].function.arguments = JSON.stringify(block.input);
  return delta;
}

const messages = {
  path: "/v1/messages",
  client: "anthropic.Anthropic", method: "messages.create",
  body({ model, messages: all, tools, choice, format, most, temperature, stream }) {
    const system = all.filter(({ role }) => role === "system").map(({ content }) => content).join("\n\n");
    const rest = all.filter(({ role }) => role !== "system");
    return {
      model, max_tokens: most, ...(system ? { system } : {}),
      messages: rest.map((each) => ({ role: each.role === "assistant" ? "assistant" : "user", content: blocksOf(each) })),
      ...optional("temperature", temperature),
      ...(tools === undefined ? {} : { tools: eachOf(tools, toolOf), tool_choice: { type: CHOICES[choice] ?? choice } }),
      ...(stream ? { stream: true } : {}),
      ...(format === undefined ? {} : { output_config: { format: formatOf(flat(format)) } }),
    };
  },
  read({ type, index, delta, usage, ...event }) {
    switch (type) {
      case "message": return { deltas: event.content.map(wholeBlock), finish_reason: event.stop_reason, usage: said(usage), isWhole: true };
      case "content_block_start": return { delta: blockOf(event.content_block, index) };
      case "content_block_delta": return { delta: partOf(delta, index) };
      case "message_delta": return { finish_reason: delta.stop_reason, usage: said(usage) };
      case "message_stop": return { isWhole: true };
      default: return { error: event.error };
    }
  },
  pointer: (path) => path,
};

export const APIS = { completions, responses, messages };

// -- programs

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const WORDS = { true: "True", false: "False", null: "None" };

// a string or a word of JSON as Python writes it; an image is read from its file
function term(text) {
  const [before, number] = text.split(MARKED);
  if (number === undefined) return WORDS[text] ?? text;
  const read = `image(${JSON.stringify(fileOf(number))})`;
  return before === '"' ? read : `${before}" + ${read}`;
}

// a value as Python writes it
function literal(value) {
  return JSON.stringify(value, null, 4).replace(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, term);
}

const READ_IMAGE = ["def image(path):", '    with open(path, "rb") as file:', "        return base64.b64encode(file.read()).decode()", "", ""];

// a body in which the shell replaces marks by files: as standard input, since arguments have a limit
function withFiles(text) {
  const written = text.split(MARKED).map((part, at) => (at % 2 ? `$(base64 < ${quoted(fileOf(part))} | tr -d '\\n')` : part.replace(/[\\$`]/g, "\\$&")));
  return `-d @- <<BODY\n${written.join("")}\nBODY`;
}

export function curl(api, body, hasKey) {
  const text = JSON.stringify(body, null, 2);
  const key = hasKey ? ' -H "authorization: Bearer $SWITCHYARD_API_KEY"' : "";
  return `curl -s ${location.origin}${api.path} -H 'content-type: application/json'${key} ${MARKED.test(text) ? withFiles(text) : `-d ${quoted(text)}`}`;
}

export function python(api, body, hasKey) {
  const isAnthropic = api === messages;
  // Anthropic's client has no argument for it
  const { temperature, ...rest } = body;
  const fields = isAnthropic && temperature !== undefined ? { ...rest, extra_body: { temperature } } : body;
  const lines = Object.entries(fields).map(([name, value]) => `    ${name}=${literal(value).replaceAll("\n", "\n    ")},\n`);
  const key = hasKey ? 'os.environ["SWITCHYARD_API_KEY"]' : '"none"';
  const hasImages = MARKED.test(JSON.stringify(body));
  const standard = [...(hasImages ? ["import base64"] : []), ...(hasKey ? ["import os"] : [])];
  return [
    ...standard, ...(standard.length ? [""] : []), `import ${api.client.split(".")[0]}`, "",
    ...(hasImages ? ["", ...READ_IMAGE] : []),
    `client = ${api.client}(base_url="${location.origin}${isAnthropic ? "" : "/v1"}", api_key=${key})`,
    `answer = client.${api.method}(\n${lines.join("")})`,
    body.stream ? "for event in answer:\n    print(event)" : "print(answer)",
  ].join("\n");
}
