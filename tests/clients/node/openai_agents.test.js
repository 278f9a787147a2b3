// OpenAI Agents on chat completions: a run with tools, typed output, whole and streamed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Agent, run, setDefaultOpenAIClient, setOpenAIAPI, setTracingDisabled, tool,
} from '@openai/agents'
import OpenAI from 'openai'
import { baseURL, Place, PROMPT, TURNS, Weather } from './served.js'

setOpenAIAPI('chat_completions')
setDefaultOpenAIClient(new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 }))
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

function guide(called, more = {}) {
  const parameters = Place
  const execute = (given) => void called.push(Place.parse(given))
  const tools = [tool({ name: 'locate', description: 'says where', parameters, execute })]
  const modelSettings = { ...OPTIONS, toolChoice: 'required' }
  return new Agent({ name: 'Guide', instructions: 'Be brief.', model: 'noise', tools, modelSettings, ...more })
}

for (const stream of [false, true]) {
  for (const outputType of [undefined, Weather]) {
    test(`a run with stream: ${stream} and output: ${outputType ? 'Weather' : 'text'}`, async () => {
      const called = []
      const more = outputType ? { outputType } : {}
      const result = await run(guide(called, more), PROMPT, { stream, maxTurns: TURNS })
      if (stream) {
        for await (const event of result) assert(event.type)
        await result.completed
      }
      assert(called.length > 0)
      if (outputType) Weather.parse(result.finalOutput)
      else assert.equal(typeof result.finalOutput, 'string')
      const again = [...result.history, { role: 'user', content: 'And in Bergen?' }]
      const second = await run(guide(called, more), again, { maxTurns: TURNS })
      assert(second.finalOutput !== undefined)
    })
  }
}
