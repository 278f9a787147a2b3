// The official Node client: parsed answers, streams, and runTools.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod'
import { baseURL, Place, PROMPT, seeds, SHAPES, thinks, TURNS, Weather } from './served.js'

const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 })
const messages = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: PROMPT },
]
// what users set; nothing of it may be refused
const OPTIONS = {
  model: 'noise',
  temperature: 0.2,
  top_p: 0.9,
  frequency_penalty: 0.1,
  presence_penalty: 0.1,
  max_completion_tokens: 30_000,
  stop: ['Observation:'],
  user: 'someone',
  store: false,
  reasoning_effort: 'high',
  top_k: 40,
}

for (const [name, shape] of Object.entries(SHAPES)) {
  test(`parse gives ${name}`, async () => {
    for (let seed = 0; seed < 5; seed++) {
      const response_format = zodResponseFormat(shape, name)
      const answer = await client.chat.completions.parse({ ...OPTIONS, messages, response_format, seed })
      shape.parse(answer.choices[0].message.parsed)
    }
  })
}

test('a stream adds up to the type', async () => {
  const response_format = zodResponseFormat(Weather, 'weather')
  const stream = client.chat.completions.stream({
    ...OPTIONS, messages, response_format, seed: 3, stream_options: { include_usage: true },
  })
  let text = ''
  stream.on('content', (delta) => (text += delta))
  const final = await stream.finalChatCompletion()
  Weather.parse(final.choices[0].message.parsed)
  Weather.parse(JSON.parse(text))
  assert(final.usage.completion_tokens > 0)
})

for (const stream of [false, true]) {
  test(`runTools with stream: ${stream}`, async () => {
    const called = []
    const tool = (name, parameters) =>
      zodFunction({
        name,
        parameters,
        function: (given) => {
          called.push(parameters.parse(given))
          return { ok: true }
        },
      })
    const tools = [tool('report', Weather), tool('locate', Place)]
    const runner = client.chat.completions.runTools(
      { ...OPTIONS, messages, tools, tool_choice: 'auto', stream }, { maxChatCompletions: TURNS },
    )
    const content = await runner.finalContent()
    assert.equal(typeof content, 'string')
    const answers = runner.messages.filter((message) => message.role === 'tool')
    assert.equal(answers.length, called.length)
  })

  test(`a named function with stream: ${stream}`, async () => {
    const tool_choice = { type: 'function', function: { name: 'locate' } }
    const tools = [zodFunction({ name: 'locate', parameters: Place, function: (given) => given })]
    const runner = client.chat.completions.runTools({ ...OPTIONS, messages, tools, tool_choice, stream })
    Place.parse(JSON.parse(await runner.finalFunctionToolCallResult()))
  })
}

test('thoughts come back and go back', async () => {
  const history = [...messages]
  const tools = [zodFunction({ name: 'locate', parameters: Place })]
  let thoughts = 0
  for (const seed of seeds(() => thoughts > 0)) {
    const asked = { ...OPTIONS, messages: history, tools, tool_choice: 'required', seed }
    const { message } = (await client.chat.completions.parse(asked)).choices[0]
    thoughts += message.reasoning_content ? 1 : 0
    history.push(message)
    for (const call of message.tool_calls) {
      Place.parse(call.function.parsed_arguments)
      history.push({ role: 'tool', tool_call_id: call.id, content: 'ok' })
    }
  }
  assert.equal(thoughts > 0, thinks)
})

test('errors have their class and their place', async () => {
  const asked = client.chat.completions.create({ model: 'noise', messages, top_logprobs: 3 })
  await assert.rejects(asked, (error) => {
    assert(error instanceof OpenAI.BadRequestError)
    assert.deepEqual([error.param, error.code], ['top_logprobs', null])
    return true
  })
})
