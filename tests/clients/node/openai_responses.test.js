// The official Node client on responses: parsed answers, streams, tool loops, stored chains.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod'
import { baseURL, Place, PROMPT, seeds, SHAPES, thinks, Weather } from './served.js'

const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 })
const input = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: PROMPT },
]
// what users set; nothing of it may be refused
const OPTIONS = {
  model: 'noise',
  instructions: 'Be brief.',
  temperature: 0.2,
  top_p: 0.9,
  max_output_tokens: 30_000,
  parallel_tool_calls: true,
  truncation: 'disabled',
  metadata: { run: '1' },
  safety_identifier: 'someone',
  prompt_cache_key: 'weather',
  service_tier: 'auto',
  reasoning: { effort: 'high', summary: 'auto' },
  include: ['reasoning.encrypted_content'],
  top_k: 40,
}
const TOOLS = [
  zodResponsesFunction({ name: 'report', parameters: Weather }),
  zodResponsesFunction({ name: 'locate', parameters: Place }),
]
const TYPES = { report: Weather, locate: Place }

function outputs(response) {
  const calls = response.output.filter((item) => item.type === 'function_call')
  return calls.map((call) => {
    TYPES[call.name].parse(JSON.parse(call.arguments))
    return { type: 'function_call_output', call_id: call.call_id, output: '{"ok": true}' }
  })
}

for (const [name, shape] of Object.entries(SHAPES)) {
  test(`parse gives ${name}`, async () => {
    for (let seed = 0; seed < 5; seed++) {
      const text = { format: zodTextFormat(shape, name) }
      const response = await client.responses.parse({ ...OPTIONS, input, text, seed })
      shape.parse(response.output_parsed)
    }
  })
}

test('a stream adds up to the type', async () => {
  const text = { format: zodTextFormat(Weather, 'weather') }
  const stream = client.responses.stream({ ...OPTIONS, input, text, seed: 3 })
  let written = ''
  stream.on('response.output_text.delta', (event) => (written += event.delta))
  const final = await stream.finalResponse()
  Weather.parse(final.output_parsed)
  Weather.parse(JSON.parse(written))
  assert(final.usage.output_tokens > 0)
})

for (const store of [false, true]) {
  test(`a loop of calls with store: ${store}`, async () => {
    let items = [...input]
    let previous
    let thoughts = 0
    for (const seed of seeds(() => thoughts > 0)) {
      const tool_choice = seed % 2 ? { type: 'function', name: 'locate' } : 'required'
      const stream = client.responses.stream({
        ...OPTIONS, input: items, tools: TOOLS, tool_choice, store, seed, previous_response_id: previous,
      })
      const response = await stream.finalResponse()
      thoughts += response.output.some((item) => item.type === 'reasoning') ? 1 : 0
      const answers = outputs(response)
      assert(answers.length > 0)
      if (store) previous = response.id
      items = store ? answers : [...items, ...response.output, ...answers]
    }
    assert.equal(thoughts > 0, thinks)
  })
}

test('a stored response is read, listed and deleted', async () => {
  const response = await client.responses.create({ ...OPTIONS, input, seed: 1 })
  assert.deepEqual((await client.responses.retrieve(response.id)).output, response.output)
  const items = []
  for await (const item of client.responses.inputItems.list(response.id, { order: 'asc' })) items.push(item)
  assert.deepEqual(items.map((item) => item.role), ['developer', 'user'])
  await client.responses.delete(response.id)
  await assert.rejects(client.responses.retrieve(response.id), OpenAI.NotFoundError)
})

test('errors have their class and their place', async () => {
  const asked = client.responses.create({ model: 'noise', input, prompt: { id: 'p' } })
  await assert.rejects(asked, (error) => {
    assert(error instanceof OpenAI.BadRequestError)
    assert.deepEqual([error.param, error.code], ['prompt', 'unsupported_parameter'])
    return true
  })
})
