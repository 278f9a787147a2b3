// Steady load: clients that ask for tool calls, half of them streamed; every answer must be whole.
//
//   docker compose --profile load run --rm k6 run /k6/load.js
//   k6 run -e BASE_URL=http://127.0.0.1:8080 -e API_KEY=... -e VUS=32 -e DURATION=5m k6/load.js
//
// It works with every model, including noise. Thresholds: no failed request.

import http from 'k6/http';
import { check } from 'k6';
import exec from 'k6/execution';

const BASE = __ENV.BASE_URL || 'http://127.0.0.1:8080';
const HEADERS = Object.assign(
  { 'Content-Type': 'application/json' },
  __ENV.API_KEY ? { Authorization: `Bearer ${__ENV.API_KEY}` } : {},
);
const TOOL = {
  type: 'function',
  function: {
    name: 'set_light',
    parameters: {
      type: 'object',
      properties: { on: { type: 'boolean' }, level: { type: 'integer', minimum: 0, maximum: 9 } },
      required: ['on', 'level'],
      additionalProperties: false,
    },
  },
};

export const options = {
  vus: Number(__ENV.VUS || 8),
  duration: __ENV.DURATION || '1m',
  thresholds: { checks: ['rate==1.0'], http_req_failed: ['rate==0'] },
};

export function setup() {
  const models = http.get(`${BASE}/v1/models`, { headers: HEADERS });
  if (models.status !== 200) exec.test.abort(`GET /v1/models: ${models.status} ${models.body}`);
  return { model: models.json('data.0.id') };
}

export default function (data) {
  const stream = exec.scenario.iterationInTest % 2 === 1;
  const body = {
    model: data.model,
    messages: [{ role: 'user', content: 'Turn on the light.' }],
    tools: [TOOL], tool_choice: 'required', parallel_tool_calls: false,
    max_completion_tokens: 8000, stream,
  };
  const answer = http.post(`${BASE}/v1/chat/completions`, JSON.stringify(body), { headers: HEADERS });
  check(answer, {
    'the answer is whole': (r) =>
      r.status === 200 &&
      (stream ? r.body.trimEnd().endsWith('data: [DONE]') : r.json('choices.0.finish_reason') === 'tool_calls'),
  });
}
