// Every type of zod as a strict response format: none is refused, and zod takes what comes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { baseURL, PROMPT } from './served.js'
import { schemasOf, TYPES, WITHOUT } from './zod_schemas.js'

// types that ask for more than their JSON Schema says, or read a pattern without the flag u
const SAYS_LESS = [
  'url checked', 'httpUrl', 'jwt', 'jwt alg', 'creditCard', 'iban', 'stringFormat by function', 'file',
  'stringbool', 'pipe', 'refine', 'template many', 'template emoji',
]

async function post(path, body) {
  const answer = await fetch(`${baseURL}${path}`, {
    method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
    body: JSON.stringify(body),
  })
  const found = await answer.json()
  assert.equal(answer.status, 200, JSON.stringify(found))
  return found
}

test('no schema is refused', async () => {
  for (const [name, [type]] of Object.entries(TYPES))
    for (const schema of schemasOf(type)) {
      const report = await post('/grammars/check', { strict: true, schema })
      assert.deepEqual([name, report.refused, report.mistake], [name, [], null])
      assert(report.is_enforced)
    }
})

test('zod takes the answers', async () => {
  let ended = 0
  for (const [name, [type]] of Object.entries(TYPES)) {
    if (SAYS_LESS.includes(name)) continue
    const wrapped = z.object({ value: type })
    const schema = z.toJSONSchema(wrapped)
    for (let seed = 0; seed < 2; seed++) {
      const { choices: [{ message, finish_reason }] } = await post('/chat/completions', {
        model: 'noise', messages: [{ role: 'user', content: PROMPT }], seed, max_tokens: 2000,
        response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } },
      })
      if (finish_reason !== 'stop') continue
      ended++
      const { error } = wrapped.safeParse(JSON.parse(message.content))
      assert.equal(error, undefined, `${name}: ${message.content}`)
    }
  }
  assert(ended > Object.keys(TYPES).length)
})

test('other types have no JSON Schema', () => {
  for (const [name, type] of Object.entries(WITHOUT))
    assert.throws(() => z.toJSONSchema(type), /cannot be represented in JSON Schema/, name)
})
