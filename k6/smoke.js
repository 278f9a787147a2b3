// Smoke test: a few users send the main kinds of requests, and every check must pass.
//
//   k6 run k6/smoke.js                                             against http://127.0.0.1:8080
//   k6 run -e BASE_URL=http://127.0.0.1:8000 -e API_KEY=... k6/smoke.js
//
// It works with every model, including noise: the checks cover the form of answers, not their content.

import http from 'k6/http';
import { check } from 'k6';
import { BASE, HEADERS, events, post } from './common.js';

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

// error responses are expected here
http.setResponseCallback(http.expectedStatuses(200, 400, 404));

export function setup() {
  const models = http.get(`${BASE}/v1/models`, { headers: HEADERS });
  check(models, { 'models are listed': (r) => r.status === 200 && r.json('data.0.object') === 'model' });
  return { model: models.json('data.0.id') };
}

function fits(text) {
  const value = JSON.parse(text);
  return (
    Number.isInteger(value.hour) && value.hour >= 0 && value.hour <= 23 &&
    typeof value.repeat === 'boolean' && ['bell', 'birds'].includes(value.sound)
  );
}

export default function (data) {
  const base = {
    model: data.model,
    messages: [{ role: 'user', content: 'Wake me with birds.' }],
    // the noise worker writes long answers
    max_completion_tokens: 8000,
  };
  calls(base);
  structured(base);
  streams(base);
  refusals(base);
  check(http.get(`${BASE}/health/ready`), { 'the gateway is ready': (r) => r.status === 200 });
}

function calls(base) {
  const answer = post({ ...base, tools: [TOOL], tool_choice: 'required', parallel_tool_calls: false });
  check(answer, {
    'a required call is made': (r) => r.status === 200 && r.json('choices.0.finish_reason') === 'tool_calls',
    'its arguments match the schema': (r) => fits(r.json('choices.0.message.tool_calls.0.function.arguments')),
    'usage adds up': (r) =>
      r.json('usage.total_tokens') === r.json('usage.prompt_tokens') + r.json('usage.completion_tokens'),
  });
}

function structured(base) {
  const format = { type: 'json_schema', json_schema: { name: 'alarm', schema: SCHEMA, strict: true } };
  const answer = post({ ...base, response_format: format });
  check(answer, {
    'a response format is enforced': (r) => r.status === 200 && fits(r.json('choices.0.message.content')),
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
    'a stream consists of events': (r) => r.status === 200 && r.headers['Content-Type'].startsWith('text/event-stream'),
    'a stream begins with the role': () => deltas[0].role === 'assistant',
    'streamed arguments match the schema': () => fits(text),
    'a stream ends with usage and [DONE]': () =>
      seen[seen.length - 1] === '[DONE]' && chunks[chunks.length - 1].usage.completion_tokens > 0,
  });
}

function refusals(base) {
  const unknown = post({ ...base, model: 'no-such-model' });
  check(unknown, {
    'an unknown model gets 404': (r) => r.status === 404 && r.json('error.code') === 'model_not_found',
  });
  const wrong = post({ ...base, temperature: 'hot' });
  check(wrong, {
    'a wrong type gets 400 with its parameter': (r) => r.status === 400 && r.json('error.param') === 'temperature',
  });
}
