// Anthropic's client for Node: messages, streams, parsed answers, the tool runner, counts and models.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
import { z } from 'zod'
import { baseURL, Place, PROMPT, seeds, SHAPES, thinks, Weather } from './served.js'

const client = new Anthropic({ baseURL: baseURL.replace(/\/v1$/, ''), apiKey: 'none', maxRetries: 0 })
const user = { role: 'user', content: PROMPT }
// what users set; nothing of it may be refused. The client's types no longer know the sampling.
const OPTIONS = {
  model: 'noise',
  max_tokens: 20_000,
  messages: [user],
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  stop_sequences: ['Observation:'],
  metadata: { user_id: 'someone' },
  thinking: { type: 'enabled', budget_tokens: 1024 },
  temperature: 0.2,
  top_p: 0.9,
  top_k: 40,
}
const TYPES = { report: Weather, locate: Place }
const TOOLS = Object.entries(TYPES).map(([name, type]) => ({ name, input_schema: z.toJSONSchema(type) }))
// a type that the client sends whole: without bounds, which it would move
const Light = z.object({ on: z.boolean(), room: z.enum(['hall', 'attic']), level: z.int() })

const textOf = ({ content }) => content.map((block) => (block.type === 'text' ? block.text : '')).join('')

function results({ content }) {
  const calls = content.filter((block) => block.type === 'tool_use')
  return calls.map((call) => {
    TYPES[call.name].parse(call.input)
    return { type: 'tool_result', tool_use_id: call.id, content: 'ok' }
  })
}

for (const [name, shape] of Object.entries(SHAPES)) {
  test(`a schema of type ${name} is enforced`, async () => {
    for (let seed = 0; seed < 3; seed++) {
      const format = { type: 'json_schema', schema: z.toJSONSchema(shape) }
      const message = await client.messages.create({ ...OPTIONS, output_config: { format }, seed })
      shape.parse(JSON.parse(textOf(message)))
    }
  })
}

test('parse gives the type, whole and streamed', async () => {
  const asked = { ...OPTIONS, output_config: { format: zodOutputFormat(Light) }, seed: 2 }
  Light.parse((await client.messages.parse(asked)).parsed_output)
  Light.parse((await client.messages.stream(asked).finalMessage()).parsed_output)
})

for (const stream of [false, true]) {
  test(`a loop of calls with stream: ${stream}`, async () => {
    const messages = [user]
    let thoughts = 0
    for (const seed of seeds(() => thoughts > 0)) {
      const tool_choice = seed % 2 ? { type: 'tool', name: 'locate' } : { type: 'any' }
      const asked = { ...OPTIONS, messages, tools: TOOLS, tool_choice, seed }
      const message = stream
        ? await client.messages.stream(asked).finalMessage()
        : await client.messages.create(asked)
      assert.equal(message.stop_reason, 'tool_use')
      thoughts += message.content[0].type === 'thinking' ? 1 : 0
      messages.push({ role: 'assistant', content: message.content })
      messages.push({ role: 'user', content: results(message) })
    }
    assert.equal(thoughts > 0, thinks)
    const last = await client.messages.create({ ...OPTIONS, messages, tools: TOOLS, tool_choice: { type: 'none' } })
    assert.equal(last.stop_reason, 'end_turn')
  })

  test(`the tool runner with stream: ${stream}`, async () => {
    const called = []
    const run = (input) => `${called.push(Place.parse(input))} read`
    const tools = [betaZodTool({ name: 'locate', description: 'says where', inputSchema: Place, run })]
    const runner = client.beta.messages.toolRunner({
      ...OPTIONS, tools, tool_choice: { type: 'any' }, max_iterations: 3, stream,
    })
    const reasons = []
    for await (const turn of runner) {
      reasons.push((stream ? await turn.finalMessage() : turn).stop_reason)
    }
    assert.deepEqual(reasons, ['tool_use', 'tool_use', 'tool_use'])
    assert(called.length >= 2)
  })
}

test('tokens are counted', async () => {
  const { input_tokens } = await client.messages.countTokens({ model: 'noise', messages: [user], tools: TOOLS })
  const asked = { model: 'noise', messages: [user], tools: TOOLS, max_tokens: 1 }
  assert.equal((await client.messages.create(asked)).usage.input_tokens, input_tokens)
})

test('errors have their class and their place', async () => {
  const tools = [{ name: 'f', input_schema: { type: 'objekt' } }]
  await assert.rejects(client.messages.create({ ...OPTIONS, tools }), (error) => {
    assert(error instanceof Anthropic.BadRequestError)
    assert.match(error.message, /tools\[0\]\.input_schema: at \/type/)
    assert(error.requestID)
    return true
  })
  await assert.rejects(client.messages.create({ ...OPTIONS, model: 'other' }), Anthropic.NotFoundError)
})

test('models are listed', async () => {
  const listed = []
  for await (const model of client.models.list()) listed.push(model.id)
  assert.deepEqual(listed, ['noise'])
  assert.equal((await client.models.retrieve('noise')).id, 'noise')
})
