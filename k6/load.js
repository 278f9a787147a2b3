// Load: clients that ask for tool calls. Every answer must be whole and fit its schema.
//
//   docker compose --profile load run --rm k6 run /k6/load.js
//   k6 run -e BASE_URL=http://127.0.0.1:8000 -e API_KEY=... -e SCENARIO=spike -e SECONDS=60 k6/load.js
//
//   stream   VUS users that ask one after the other, half of them for streams
//   spike    a few requests a second, then RATE of them, then a few again. Requests beyond the capacity
//            may get 429 or 503 with Retry-After, and nothing else
//   churn    half of the requests bring a tool that no request had before
//   soak     as stream, at RATE requests a second, for long runs
//
// It works with every model, including noise.

import { check } from 'k6';
import exec from 'k6/execution';
import http from 'k6/http';
import { asked, fits, post, setup, tool, valid, written } from './common.js';

export { setup };

const SCENARIO = __ENV.SCENARIO || 'stream';
const SECONDS = Number(__ENV.SECONDS || 60);
const VUS = Number(__ENV.VUS || 8);
const RATE = Number(__ENV.RATE || 100);
const FEW = Math.max(1, Math.round(RATE / 10));
// a run of its own, so that a second one does not find the tools of the first
const RUN = Date.now().toString(36);

const users = { executor: 'constant-vus', vus: VUS, duration: `${SECONDS}s` };
const SCENARIOS = {
  stream: users,
  churn: users,
  soak: {
    executor: 'constant-arrival-rate', rate: RATE, duration: `${SECONDS}s`,
    preAllocatedVUs: VUS, maxVUs: 10 * VUS,
  },
  spike: {
    executor: 'ramping-arrival-rate', startRate: FEW, preAllocatedVUs: VUS, maxVUs: 1000,
    stages: [
      { target: FEW, duration: `${SECONDS / 3}s` },
      { target: RATE, duration: '1s' },
      { target: RATE, duration: `${SECONDS / 3}s` },
      { target: FEW, duration: '1s' },
      { target: FEW, duration: `${SECONDS / 3}s` },
    ],
  },
};

if (!(SCENARIO in SCENARIOS)) throw new Error(`SCENARIO must be one of ${Object.keys(SCENARIOS).join(', ')}`);
if (SCENARIO === 'spike') http.setResponseCallback(http.expectedStatuses(200, 429, 503));

export const options = {
  scenarios: { [SCENARIO]: SCENARIOS[SCENARIO] },
  thresholds: { checks: ['rate==1.0'], http_req_failed: ['rate==0'], schema_valid: ['rate==1.0'] },
  summaryTrendStats: ['med', 'p(90)', 'p(99)', 'max'],
};

export default function (data) {
  const number = exec.scenario.iterationInTest;
  const stream = number % 2 === 1;
  const isNew = SCENARIO === 'churn' && number % 4 < 2;
  const used = tool(isNew ? `${RUN}_${number}` : undefined);
  const answer = post(asked(data.model, used, stream));
  if (SCENARIO === 'spike' && (answer.status === 429 || answer.status === 503)) {
    check(answer, { 'a refusal says when to try again': (r) => Number(r.headers['Retry-After']) >= 1 });
    return;
  }
  const text = written(answer, stream);
  if (check(text, { 'the answer is whole': (found) => found !== null })) valid.add(fits(text, used));
}
