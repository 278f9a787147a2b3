// Smoke test: a few users walk through the main job; every check must hold.
//
//   k6 run k6/smoke.js                                             against http://127.0.0.1:8080
//   k6 run -e BASE_URL=http://127.0.0.1:8000 -e API_KEY=... k6/smoke.js
//
// It works with any model behind the gateway, noise included: what is checked is shape, never wit.

import http from 'k6/http';
import { check } from 'k6';

const BASE = __ENV.BASE_URL || 'http://127.0.0.1:8080';
const HEADERS = Object.assign(
  { 'Content-Type': 'application/json' },
  __ENV.API_KEY ? { Authorization: `Bearer ${__ENV.API_KEY}` } : {},
);
const TOOL = {
  type: 'function',
  function: {
    name: 'set_alarm',
    parameters: {
      type: 'object',
      properties: {
        hour: { type: 'integer', minimum: 0, maximum: 23 },
        repeat: { type: 'boolean' },
        sound: { enum: ['bell', 'birds'] },
      },
      required: ['hour', 'repeat', 'sound'],
      additionalProperties: false,
    },
  },
};
const SCHEMA = TOOL.function.parameters;

export const options = {
  vus: 2,
  iterations: 20,
  thresholds: { checks: ['rate==1.0'], http_req_duration: ['p(95)<30000'] },
};

// answers with an error are part of the test, not failures of it
http.setResponseCallback(http.expectedStatuses(200, 400, 404));

export function setup() {
  const models = http.get(`${BASE}/v1/models`, { headers: HEADERS });
  check(models, { 'models are listed': (r) => r.status === 200 && r.json('data.0.object') === 'model' });
  return { model: models.json('data.0.id') };
}

function post(body) {
  return http.post(`${BASE}/v1/chat/completions`, JSON.stringify(body), { headers: HEADERS });
}

function fits(text) {
  const value = JSON.parse(text);
  return (
    Number.isInteger(value.hour) && value.hour >= 0 && value.hour <= 23 &&
    typeof value.repeat === 'boolean' && ['bell', 'birds'].includes(value.sound)
  );
}

function events(body) {
  return body.split('\n\n').filter((part) => part.startsWith('data: ')).map((part) => part.slice(6));
}

export default function (data) {
  const base = {
    model: data.model,
    messages: [{ role: 'user', content: 'Wake me with birds.' }],
    // noise thinks at length before it answers; models that do not are done sooner
    max_completion_tokens: 8000,
  };
  calls(base);
  structured(base);
  streams(base);
  refusals(base);
  check(http.get(`${BASE}/health/ready`), { 'it is ready': (r) => r.status === 200 });
}

function calls(base) {
  const answer = post({ ...base, tools: [TOOL], tool_choice: 'required', parallel_tool_calls: false });
  check(answer, {
    'a required call is made': (r) => r.status === 200 && r.json('choices.0.finish_reason') === 'tool_calls',
    'its arguments fit': (r) => fits(r.json('choices.0.message.tool_calls.0.function.arguments')),
    'tokens are counted': (r) =>
      r.json('usage.total_tokens') === r.json('usage.prompt_tokens') + r.json('usage.completion_tokens'),
  });
}

function structured(base) {
  const format = { type: 'json_schema', json_schema: { name: 'alarm', schema: SCHEMA, strict: true } };
  const answer = post({ ...base, response_format: format });
  check(answer, {
    'a schema is obeyed': (r) => r.status === 200 && fits(r.json('choices.0.message.content')),
  });
}

function streams(base) {
  const answer = post({
    ...base, tools: [TOOL], tool_choice: 'required', parallel_tool_calls: false, stream: true,
    stream_options: { include_usage: true },
  });
  const seen = events(answer.body);
  const chunks = seen.slice(0, -1).map((text) => JSON.parse(text));
  const deltas = chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta));
  const text = deltas.flatMap((delta) => delta.tool_calls || []).map((c) => c.function.arguments).join('');
  check(answer, {
    'a stream is events': (r) => r.status === 200 && r.headers['Content-Type'].startsWith('text/event-stream'),
    'it begins with the role': () => deltas[0].role === 'assistant',
    'its pieces fit together': () => fits(text),
    'it ends with usage and [DONE]': () =>
      seen[seen.length - 1] === '[DONE]' && chunks[chunks.length - 1].usage.completion_tokens > 0,
  });
}

function refusals(base) {
  const unknown = post({ ...base, model: 'no-such-model' });
  check(unknown, {
    'an unknown model is 404': (r) => r.status === 404 && r.json('error.code') === 'model_not_found',
  });
  const wrong = post({ ...base, temperature: 'hot' });
  check(wrong, {
    'a wrong type is 400 and named': (r) => r.status === 400 && r.json('error.param') === 'temperature',
  });
}
