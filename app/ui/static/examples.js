// Constraints and outputs to start from.

const schema = (name, source, output, strict = false) => ({ name, kind: "schema", source, output, strict });
const WEATHER = {
  type: "function",
  function: {
    name: "get_weather",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", minimum: 1, maximum: 14 } },
      required: ["city"],
      additionalProperties: false,
    },
  },
};

export const EXAMPLES = [
  schema("Forecast, a number too large", {
    type: "object",
    properties: {
      city: { type: "string", maxLength: 40 },
      days: { type: "integer", minimum: 1, maximum: 14 },
      unit: { enum: ["celsius", "fahrenheit"] },
    },
    required: ["city", "days", "unit"],
    additionalProperties: false,
  }, '{"city": "Oslo", "days": 30, "unit": "celsius"}'),
  schema("Event, dates and items", {
    type: "object",
    properties: {
      title: { type: "string", minLength: 1 },
      date: { type: "string", format: "date" },
      tags: { type: "array", items: { enum: ["work", "home"] }, maxItems: 2, uniqueItems: true },
    },
    required: ["title", "date"],
    additionalProperties: false,
  }, '{"title": "Lunch", "date": "2026-02-30"}'),
  schema("Relaxed keywords", {
    type: "object",
    properties: {
      code: { type: "string", pattern: "(a+)b\\1" },
      phone: { type: "string", format: "phone" },
      part: { $ref: "https://example.org/part" },
    },
    required: ["code"],
  }, '{"code": "aab"}'),
  schema("Refused by strict", {
    type: "object",
    properties: { code: { type: "string", pattern: "(a+)b\\1" } },
    required: ["code"],
    additionalProperties: false,
  }, '{"code": "aabaa"}', true),
  schema("Recursive tree", {
    $defs: {
      node: {
        type: "object",
        properties: { value: { type: "integer" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
        required: ["value"],
        additionalProperties: false,
      },
    },
    $ref: "#/$defs/node",
  }, '{"value": 1, "children": [{"value": "two"}]}'),
  {
    name: "One tool (Hermes)", kind: "tools", format: "hermes", source: [WEATHER],
    output: '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}\n</tool_call>',
  },
  {
    name: "One tool, an unknown name", kind: "tools", format: "hermes", source: [WEATHER],
    output: '<tool_call>\n{"name": "get_wheather", "arguments": {"city": "Oslo"}}\n</tool_call>',
  },
  {
    name: "XML arguments (Qwen Coder)", kind: "tools", format: "qwen_coder", source: [WEATHER],
    output: "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
  },
];

export const CHAT_TOOLS = [WEATHER];
