// What the scripts share: the gateway's address, its model, a tool, and the judgement of answers.

import http from 'k6/http';
import exec from 'k6/execution';
import { Rate } from 'k6/metrics';

export const BASE = __ENV.BASE_URL || 'http://127.0.0.1:8080';
export const HEADERS = Object.assign(
  { 'Content-Type': 'application/json' },
  __ENV.API_KEY ? { Authorization: `Bearer ${__ENV.API_KEY}` } : {},
);

// answers that fit their schema, among those that have one
export const valid = new Rate('schema_valid');

export function setup() {
  const models = http.get(`${BASE}/v1/models`, { headers: HEADERS });
  if (models.status !== 200) exec.test.abort(`GET /v1/models: ${models.status} ${models.body}`);
  return { model: models.json('data.0.id') };
}

export function post(body) {
  return http.post(`${BASE}/v1/chat/completions`, JSON.stringify(body), { headers: HEADERS });
}

// A tool whose level has another name in each generation, so that its grammar is a new one.
export function tool(generation) {
  const level = generation === undefined ? 'level' : `level_${generation}`;
  return {
    type: 'function',
    function: {
      name: 'set_light',
      strict: true,
      parameters: {
        type: 'object',
        properties: { on: { type: 'boolean' }, [level]: { type: 'integer', minimum: 0, maximum: 9 } },
        required: ['on', level],
        additionalProperties: false,
      },
    },
  };
}

export function fits(text, { function: { parameters } }) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return false;
  }
  const level = parameters.required[1];
  return (
    Object.keys(value).length === 2 && typeof value.on === 'boolean' &&
    Number.isInteger(value[level]) && value[level] >= 0 && value[level] <= 9
  );
}

// The payloads of a stream, [DONE] included.
export function events(body) {
  return body.split('\n\n').filter((part) => part.startsWith('data: ')).map((part) => part.slice(6));
}

export function asked(model, used, stream) {
  return {
    model, stream,
    messages: [{ role: 'user', content: 'Turn on the light.' }],
    tools: [used], tool_choice: 'required', parallel_tool_calls: false,
    max_completion_tokens: 8000,
  };
}

// The arguments of the only call, streamed or not; null: the answer is not whole.
export function written(answer, stream) {
  if (answer.status !== 200) return null;
  if (!stream) {
    const choice = answer.json('choices.0');
    return choice.finish_reason === 'tool_calls' ? choice.message.tool_calls[0].function.arguments : null;
  }
  const seen = events(answer.body);
  if (seen.pop() !== '[DONE]') return null;
  const choices = seen.flatMap((text) => JSON.parse(text).choices || []);
  if (!choices.length || choices[choices.length - 1].finish_reason !== 'tool_calls') return null;
  return choices.flatMap((choice) => choice.delta.tool_calls || []).map((call) => call.function.arguments).join('');
}
