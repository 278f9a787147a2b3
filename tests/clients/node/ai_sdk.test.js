// The AI SDK with both of its providers, the official one on both APIs: tools over several steps,
// typed output, streams.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  generateObject, generateText, isStepCount, Output, streamObject, streamText, tool,
} from 'ai'
import { baseURL, Place, PROMPT, seeds, SHAPES, thinks, TURNS, Weather } from './served.js'

const compatible = createOpenAICompatible({
  name: 'switchyard', baseURL, apiKey: 'none', supportsStructuredOutputs: true, includeUsage: true,
})
const official = createOpenAI({ baseURL, apiKey: 'none' })
const MODELS = {
  compatible: compatible('noise'),
  official: official.chat('noise'),
  responses: official.responses('noise'),
  stored: official.responses('noise'),
}
// what users set; nothing of it may be refused
const OPTIONS = {
  temperature: 0.2,
  topP: 0.9,
  frequencyPenalty: 0.1,
  presencePenalty: 0.1,
  maxOutputTokens: 30_000,
  stopSequences: ['Observation:'],
  maxRetries: 0,
  instructions: 'Be brief.',
  providerOptions: {
    openai: { reasoningEffort: 'low', store: false, user: 'someone' },
    switchyard: { reasoningEffort: 'low', user: 'someone', top_k: 40 },
  },
}

// a PNG file
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA'
  + 'AABJRU5ErkJggg=='
// responses have neither penalties nor stop strings; a stored one sends references to its items
const { frequencyPenalty, presencePenalty, stopSequences, ...COMMON } = OPTIONS
const kept = (store) => ({ ...COMMON, providerOptions: { openai: { store, user: 'someone' } } })
const CHOSEN = { responses: kept(false), stored: kept(true) }

for (const [provider, model] of Object.entries(MODELS)) {
  const options = CHOSEN[provider] ?? OPTIONS
  for (const [name, schema] of Object.entries(SHAPES)) {
    // the official provider leaves out patterns that look around, as these have
    if (provider !== 'compatible' && ['Formats', 'Mail'].includes(name)) continue
    test(`${provider}: output of type ${name}`, async () => {
      for (let seed = 0; seed < 4; seed++) {
        const asked = { ...options, model, prompt: PROMPT, seed, output: Output.object({ schema }) }
        const { output, warnings } = await generateText(asked)
        assert.deepEqual(unexpected(warnings), [])
        schema.parse(output)
      }
    })
  }

  test(`${provider}: an image`, async () => {
    const used = async (...parts) => {
      const content = [{ type: 'text', text: PROMPT }, ...parts]
      const messages = [{ role: 'user', content }]
      const { usage, warnings } = await generateText({ ...options, model, messages })
      assert.deepEqual(unexpected(warnings), [])
      return usage.inputTokens
    }
    const image = { type: 'file', data: PIXEL, mediaType: 'image/png' }
    assert.ok(await used(image) > await used())
  })

  test(`${provider}: output that is streamed`, async () => {
    const output = Output.object({ schema: Weather })
    const result = streamText({ ...options, model, prompt: PROMPT, output, onError: fail })
    let last
    for await (const part of result.partialOutputStream) last = part
    Weather.parse(last)
    Weather.parse(await result.output)
    assert((await result.usage).outputTokens > 0)
  })

  test(`${provider}: the older functions for objects`, async () => {
    const asked = { ...options, model, prompt: PROMPT, schema: Weather }
    Weather.parse((await generateObject(asked)).object)
    const result = streamObject({ ...asked, onError: fail })
    let last
    for await (const part of result.partialObjectStream) last = part
    Weather.parse(last)
    Weather.parse(await result.object)
  })

  test(`${provider}: tools over several steps`, async () => {
    const { steps, text } = await generateText({ ...looped(options, model), prompt: PROMPT })
    checkSteps(steps, text)
  })

  test(`${provider}: streamed tools over several steps`, async () => {
    const result = streamText({ ...looped(options, model), prompt: PROMPT, onError: fail })
    const kinds = new Set()
    for await (const part of result.stream) kinds.add(part.type)
    for (const kind of ['tool-input-delta', 'tool-call', 'tool-result']) assert(kinds.has(kind), kind)
    checkSteps(await result.steps, await result.text)
  })

  test(`${provider}: what was said goes back`, async () => {
    const history = [{ role: 'user', content: PROMPT }]
    // the official provider does not read thoughts
    const reads = provider === 'compatible'
    let thoughts = 0
    for (const seed of seeds(() => thoughts > 0 || !reads)) {
      const asked = { ...options, model, seed, tools: TOOLS, toolChoice: 'required', messages: history }
      const { responseMessages, reasoningText } = await generateText(asked)
      thoughts += reasoningText ? 1 : 0
      history.push(...responseMessages, { role: 'user', content: 'And now?' })
    }
    assert.equal(thoughts > 0, thinks && reads)
  })
}

const TOOLS = {
  report: tool({ description: 'notes the weather', inputSchema: Weather, execute: run(Weather) }),
  locate: tool({ inputSchema: Place, execute: run(Place) }),
}

function run(schema) {
  return async (input) => ({ read: schema.parse(input) })
}

function looped(options, model) {
  const prepareStep = ({ stepNumber }) => (stepNumber === 0 ? { toolChoice: 'required' } : {})
  return { ...options, model, tools: TOOLS, stopWhen: isStepCount(TURNS), prepareStep }
}

function checkSteps(steps, text) {
  assert(steps.length > 1 && steps.length < TURNS)
  assert(steps[0].toolResults.length > 0)
  assert.equal(steps[0].toolCalls.length, steps[0].toolResults.length)
  for (const step of steps) {
    assert.deepEqual(unexpected(step.warnings ?? []), [])
    assert(!step.content.some((part) => part.type === 'tool-error'))
  }
  assert.equal(typeof text, 'string')
}

// on responses the SDK sends no seed, and no thoughts without a store
function unexpected(warnings) {
  return warnings.filter(({ feature, message }) => feature !== 'seed' && !/^Reasoning parts/.test(message))
}

function fail({ error }) {
  throw error
}
