// OpenAI Agents on both APIs: a run with tools, typed output, whole and streamed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled, tool,
} from '@openai/agents'
import OpenAI from 'openai'
import { baseURL, Place, PROMPT, TURNS, Weather } from './served.js'

const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 })
const MODELS = {
  chat: new OpenAIChatCompletionsModel(client, 'noise'),
  responses: new OpenAIResponsesModel(client, 'noise'),
}
setTracingDisabled(true)

// what users set; nothing of it may be refused
const OPTIONS = {
  temperature: 0.2,
  topP: 0.9,
  frequencyPenalty: 0.1,
  presencePenalty: 0.1,
  maxTokens: 30_000,
  store: false,
  reasoning: { effort: 'high' },
  providerData: { top_k: 40, min_p: 0.05 },
}

function guide(model, called, more = {}) {
  const parameters = Place
  const execute = (given) => void called.push(Place.parse(given))
  const tools = [tool({ name: 'locate', description: 'says where', parameters, execute })]
  const modelSettings = { ...OPTIONS, toolChoice: 'required' }
  return new Agent({ name: 'Guide', instructions: 'Be brief.', model, tools, modelSettings, ...more })
}

for (const [api, model] of Object.entries(MODELS)) {
  for (const stream of [false, true]) {
    for (const outputType of [undefined, Weather]) {
      test(`${api}: a run with stream: ${stream} and output: ${outputType ? 'Weather' : 'text'}`, async () => {
        const called = []
        const more = outputType ? { outputType } : {}
        const result = await run(guide(model, called, more), PROMPT, { stream, maxTurns: TURNS })
        if (stream) {
          for await (const event of result) assert(event.type)
          await result.completed
        }
        assert(called.length > 0)
        if (outputType) Weather.parse(result.finalOutput)
        else assert.equal(typeof result.finalOutput, 'string')
        const again = [...result.history, { role: 'user', content: 'And in Bergen?' }]
        const second = await run(guide(model, called, more), again, { maxTurns: TURNS })
        assert(second.finalOutput !== undefined)
      })
    }
  }
}
