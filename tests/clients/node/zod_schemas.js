// The types of zod, each with JSON values that it accepts and refuses, and their JSON Schemas.
//
//     node zod_schemas.js > RECORDED
//
// prints them, with every schema that z.toJSONSchema writes for the targets and directions below,
// for the engine's tests (tests/engine/frontends/json_schema/zod_schemas.json). Zod judges the
// values: a wrong one is an error. A value that zod refuses for a reason that its JSON Schema does
// not say (a checksum, a refinement, a protocol) is not listed.
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

const TARGETS = ['draft-2020-12', 'draft-7', 'draft-4', 'openapi-3.0']
const DIRECTIONS = ['input', 'output']

const tree = z.object({ value: z.string(), get children() { return z.array(tree) } })
const json = z.lazy(() => z.union([z.string(), z.number(), z.null(), z.array(json)]))
const user = z.object({ name: z.string(), get posts() { return z.array(post) } })
const post = z.object({ title: z.string(), get author() { return user.optional() } })
const LABEL = 'a'.repeat(63)
const LONGEST = `${LABEL}.${LABEL}.${LABEL}.${'b'.repeat(61)}`
const hex = (digits) => 'a1'.repeat(digits / 2)
const uuid = (version) => `0191a3c4-5b6d-${version}abc-9def-0123456789ab`
const v = z.regexes

// name -> [type, accepted values, refused values]
export const TYPES = {
  string: [z.string(), ['', 'a', 'é😀"\\\n'], [1, null, ['a']]],
  min: [z.string().min(2).max(5), ['ab', 'abcde'], ['a', 'abcdef']],
  length: [z.string().length(3), ['abc'], ['ab', 'abcd']],
  nonempty: [z.string().nonempty(), ['a'], ['']],
  regex: [z.string().regex(/^[a-z]+\d$/), ['ab1'], ['ab', 'A1', 'ab12']],
  'regex u': [z.string().regex(/^\p{Lu}\p{scx=Grek}*$/u), ['Éλ', 'A'], ['é', 'Aa']],
  'regex two': [z.string().regex(/^a/).regex(/z$/).min(4), ['abyz'], ['abz', 'byzz']],
  startsWith: [z.string().startsWith('a.b'), ['a.b', 'a.bc'], ['axb', ' a.b']],
  endsWith: [z.string().endsWith('z'), ['z', 'az'], ['za']],
  includes: [z.string().includes('x'), ['x', 'axb'], ['ab']],
  'includes at': [z.string().includes('x', { position: 3 }), ['abcx', 'abcdxe'], ['abxc']],
  lowercase: [z.string().lowercase(), ['', 'aé1'], ['aB']],
  uppercase: [z.string().uppercase(), ['', 'AÉ1'], ['Ab']],
  'several checks': [
    z.string().startsWith('a').endsWith('z').includes('m').lowercase().max(6).min(4),
    ['amyz', 'abcmyz'], ['amz', 'aMyz', 'abmcdyz', 'abyz'],
  ],
  trim: [z.string().trim(), ['a'], [1]],
  normalize: [z.string().normalize(), ['a'], [1]],
  toLowerCase: [z.string().toLowerCase(), ['a'], [1]],
  slugify: [z.string().slugify(), ['a-b'], [1]],
  email: [z.email(), ['a@b.de', "o'x+y.z@a-b.co.uk"], ['a', 'a@b', '@b.de', 'a b@c.de', '.a@b.de']],
  'email html5': [z.email({ pattern: v.html5Email }), ['a@b', 'a#b@c.de'], ['a', 'a@-b']],
  'email rfc5322': [z.email({ pattern: v.rfc5322Email }), ['a@b.de'], ['a', 'a@b', 'a b@c.de']],
  'email unicode': [
    z.email({ pattern: v.unicodeEmail }),
    ['a@b.de', `${'x'.repeat(64)}@b.de`], ['a', 'a@', '@b', 'a b@c', `${'x'.repeat(65)}@b.de`],
  ],
  'email browser': [z.email({ pattern: v.browserEmail }), ['a@b', 'a@b.de'], ['a', 'a@b-']],
  'email max': [z.email().max(10), ['a@b.de', 'abc@def.gh'], ['abcd@efg.hi', 'a']],
  'email lowercase': [z.email().lowercase(), ['a@b.de'], ['A@b.de']],
  'email endsWith': [z.email().endsWith('@b.de'), ['a@b.de'], ['a@c.de']],
  url: [z.url(), ['https://a.de/x?y#z', 'mailto:a@b.de'], ['a', '//a.de']],
  'url checked': [z.url({ protocol: /^https?$/, hostname: v.domain }), ['https://a.de/x'], ['a']],
  'url max': [z.url().max(12), ['https://a.de'], ['https://a.de/']],
  httpUrl: [z.httpUrl(), ['https://a.de/'], ['a']],
  hostname: [
    z.hostname(),
    ['a', 'a.de', 'A-b.c1', `${LABEL}.de`, LONGEST],
    ['', 'a..b', '-a', 'a-', `a${LABEL}`, `${LONGEST}b`, 'a_b', 'a b', '.a'],
  ],
  'hostname max': [z.hostname().max(4), ['a.de'], ['ab.de']],
  'hostname min': [z.hostname().min(5), ['ab.de'], ['a.de']],
  'hostname startsWith': [z.hostname().startsWith('www.'), ['www.a.de'], ['a.de']],
  'hostname endsWith': [z.hostname().endsWith('.com'), ['a.com'], ['a.de']],
  'hostname lowercase': [z.hostname().lowercase(), ['a.de'], ['A.de']],
  'hostname or address': [
    z.union([z.hostname(), z.ipv4(), z.ipv6()]), ['a.de', '1.2.3.4', '::1'], ['', '-', 'a_b'],
  ],
  hostnames: [z.array(z.hostname()), [[], ['a', 'b.de']], [['-'], 'a']],
  'hostname alone': [
    z.string().regex(v.hostname),
    ['a', 'a.', 'a.de.', LONGEST, `${LONGEST}.`], ['', '.', 'a..', `${LONGEST}b`, `${LONGEST}b.`],
  ],
  domain: [
    z.string().regex(v.domain),
    ['a.de', 'a-b.c1.com', `${LABEL}.${LABEL}.${LABEL}.${'b'.repeat(61)}`],
    ['a', 'a.d', 'a.de.', '-a.de', `${LABEL}.${LABEL}.${LABEL}.${'b'.repeat(62)}`],
  ],
  'domain lowercase': [z.string().regex(v.domain).lowercase().max(6), ['a.de'], ['A.de', 'abcd.de']],
  ipv4: [z.ipv4(), ['0.0.0.0', '255.1.2.3'], ['256.0.0.1', '1.2.3', '01.2.3.4']],
  ipv6: [z.ipv6(), ['::', '::1', '1:2:3:4:5:6:7:8', 'a::b'], ['1:2', ':::', '12345::', 'g::']],
  cidrv4: [z.cidrv4(), ['10.0.0.0/8', '1.2.3.4/32'], ['1.2.3.4', '1.2.3.4/33']],
  cidrv6: [z.cidrv6(), ['::/0', '2001:db8::/32'], ['::', '::/129']],
  mac: [z.mac(), ['00:1a:2b:3c:4d:5e'], ['00-1a-2b-3c-4d-5e', '00:1a:2b:3c:4d']],
  'mac -': [z.mac({ delimiter: '-' }), ['00-1a-2b-3c-4d-5e'], ['00:1a:2b:3c:4d:5e']],
  guid: [z.guid(), [uuid(4), '00000000-0000-0000-0000-000000000001'], ['0191a3c4', uuid('g')]],
  uuid: [z.uuid(), [1, 2, 3, 4, 5, 6, 7, 8].map(uuid), [uuid(0), uuid(9), uuid('g'), 'a']],
  ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8].map((n) => [
    `uuid v${n}`, [z.uuid({ version: `v${n}` }), [uuid(n)], [uuid(n === 4 ? 5 : 4), uuid(0), 'a']],
  ])),
  uuidv4: [z.uuidv4(), [uuid(4)], [uuid(7)]],
  uuidv6: [z.uuidv6(), [uuid(6)], [uuid(7)]],
  uuidv7: [z.uuidv7(), [uuid(7)], [uuid(4)]],
  nanoid: [z.nanoid(), ['V1StGXR8_Z5jdHi6B-myT'], ['V1StGXR8', 'V1StGXR8_Z5jdHi6B-my!']],
  'nanoid length': [z.nanoid({ length: 10 }), ['V1StGXR8_Z'], ['V1StGXR8_', 'V1StGXR8_Z5']],
  cuid: [z.cuid(), ['cjld2cjxh0000qzrmn831i7rn'], ['xjld2c', 'cjld2']],
  cuid2: [z.cuid2(), ['tz4a98xxat96iws9zmbrgj3a'], ['tz-4', '']],
  ulid: [z.ulid(), ['01ARZ3NDEKTSV4RRFFQ69G5FAV'], ['81ARZ3NDEKTSV4RRFFQ69G5FAV', '01ARZ3']],
  xid: [z.xid(), ['9m4e2mr0ui3e8a215n4g'], ['9m4e2mr0ui3e8a215n4', '9m4e2mr0ui3e8a215n4z']],
  ksuid: [z.ksuid(), ['0ujtsYcgvSTl8PAuAdqWYSMnLOv'], ['0ujtsYcgvSTl8PAuAdqWYSMnLO']],
  base64: [z.base64(), ['', 'TWFu', 'TWE=', 'TQ=='], ['TWF', 'T===', 'TW-_']],
  base64url: [z.base64url(), ['', 'TW-_', 'TWE', 'TQ'], ['T', 'TW+/', 'TQ==']],
  'base64 max': [z.base64().max(4), ['TWFu'], ['TWFuTWFu']],
  jwt: [z.jwt(), [], [1]],
  'jwt alg': [z.jwt({ alg: 'HS256' }), [], [1]],
  e164: [z.e164(), ['+4712345678', '+1234567'], ['4712345678', '+0123456', '+123456']],
  emoji: [
    z.emoji(),
    ['😀', '👩‍💻', '🇳🇴', '1️⃣', '👍🏽', '😀😀', '🏴󠁧󠁢󠁥󠁮󠁧󠁿'], ['', 'a', '1', '#', '😀a', ' 😀'],
  ],
  'emoji max': [z.emoji().max(4), ['😀', '👍🏽'], ['a']],
  hex: [z.hex(), ['', '0aF'], ['g', '0x1']],
  ...Object.fromEntries([['md5', 32], ['sha1', 40], ['sha256', 64], ['sha384', 96], ['sha512', 128]]
    .map(([name, n]) => [`hash ${name}`, [z.hash(name), [hex(n)], [hex(n - 2), `${hex(n)}a`]]])),
  'hash base64': [z.hash('sha256', { enc: 'base64' }), [`${'a'.repeat(43)}=`], ['a'.repeat(43)]],
  'hash base64url': [z.hash('sha256', { enc: 'base64url' }), ['a'.repeat(43)], ['a'.repeat(42)]],
  creditCard: [z.creditCard(), ['4111 1111 1111 1111', '4111111111111111'], ['4111', 'a']],
  currencyCode: [z.currencyCode(), ['NOK', 'EUR'], ['nok', 'XYZ']],
  iban: [z.iban(), ['NO9386011117947', 'GB82WEST12345698765432'], ['NO00860111179', 'no93', '']],
  'iso.date': [z.iso.date(), ['2024-02-29', '2025-12-31'], ['2023-02-29', '2024-13-01', '24-01-01']],
  'iso.time': [z.iso.time(), ['12:30', '23:59:59.5'], ['24:00', '1:30', '12:30Z']],
  'iso.time -1': [z.iso.time({ precision: -1 }), ['12:30'], ['12:30:00']],
  'iso.time 3': [z.iso.time({ precision: 3 }), ['12:30:00.123'], ['12:30:00', '12:30:00.12']],
  'iso.datetime': [z.iso.datetime(), ['2024-02-29T12:30:00Z'], ['2024-02-29', '2024-02-29T12:30:00']],
  'iso.datetime 0': [
    z.iso.datetime({ precision: 0 }), ['2024-02-29T12:30:00Z'], ['2024-02-29T12:30:00.5Z'],
  ],
  'iso.datetime 3': [
    z.iso.datetime({ precision: 3 }), ['2024-02-29T12:30:00.123Z'], ['2024-02-29T12:30:00Z'],
  ],
  'iso.datetime offset': [
    z.iso.datetime({ offset: true }),
    ['2024-02-29T12:30:00+05:30', '2024-02-29T12:30:00Z'], ['2024-02-29T12:30:00'],
  ],
  'iso.datetime local': [
    z.iso.datetime({ local: true }),
    ['2024-02-29T12:30:00', '2024-02-29T12:30', '2024-02-29T12:30:00Z'], ['2024-02-29T12:30:00+01:00'],
  ],
  'iso.duration': [
    z.iso.duration(), ['P1Y2M3DT4H', 'P4W', 'P1D'], ['P', 'PT', '1D', 'P1W2D', 'P1D2M'],
  ],
  'duration max': [z.iso.duration().max(4), ['PT1H'], ['PT100H']],
  'extended duration': [
    z.string().regex(v.extendedDuration), ['P1Y', '-P1.5D', 'PT1.5H', '+P1Y-2M'], ['P', 'PT', 'P1.5Y2M'],
  ],
  stringFormat: [z.stringFormat('cool', /^cool-\d+$/), ['cool-1'], ['cool']],
  'stringFormat by function': [z.stringFormat('cool', (text) => text === 'c'), ['c'], [1]],
  number: [z.number(), [0, -1.5, 1e-7], ['1', null]],
  int: [z.int(), [0, -3, 9007199254740991], [1.5, '1', 9007199254740992]],
  int32: [z.int32(), [-2147483648, 2147483647], [2147483648, 1.5]],
  uint32: [z.uint32(), [0, 4294967295], [-1, 4294967296]],
  float32: [z.float32(), [0, 1.5], ['1']],
  float64: [z.float64(), [0, 1.5], ['1']],
  'number bounds': [z.number().gt(0).lt(10).multipleOf(0.5), [0.5, 9.5, 3], [0, 10, 0.3]],
  'number step': [z.number().step(0.01), [0.01, 1.25, 3], [0.001]],
  positive: [z.number().positive(), [0.1], [0, -1]],
  negative: [z.number().negative(), [-0.1], [0, 1]],
  'int bounds': [z.number().int().min(-3).max(3), [-3, 0, 3], [4, 0.5]],
  boolean: [z.boolean(), [true, false], [0, 'true']],
  null: [z.null(), [null], [0, 'null']],
  any: [z.any(), [null, [1], { a: 'b' }], []],
  unknown: [z.unknown(), [null, [1]], []],
  file: [z.file(), [], [1]],
  enum: [z.enum(['a', 'b']), ['a', 'b'], ['c', '']],
  'native enum': [z.enum({ A: 0, B: 'b' }), [0, 'b'], ['A', 1]],
  exclude: [z.enum(['a', 'b', 'c']).exclude(['a']), ['b'], ['a']],
  literal: [z.literal('a'), ['a'], ['b']],
  'literal many': [z.literal(['a', 1, true, null]), ['a', 1, true, null], [false, 'b']],
  stringbool: [z.stringbool(), [], [1]],
  template: [z.templateLiteral(['hello, ', z.string(), '!']), ['hello, a!'], ['hello, a', 'hello!']],
  'template number': [z.templateLiteral([z.number(), z.enum(['px', 'em'])]), ['1.5px', '-2em'], ['px', '1ex']],
  'template many': [
    z.templateLiteral([z.string().min(1).max(9), '-', z.literal([1, 'b']).optional(), z.int()]),
    ['a-12', 'a-b3', 'a--4'], ['-1', 'a'],
  ],
  'template formats': [
    z.templateLiteral(['x/', z.uuid(), '/', z.iso.date(), '/', z.ipv4()]),
    [`x/${uuid(4)}/2024-02-29/1.2.3.4`], [`x/${uuid(0)}/2024-02-29/1.2.3.4`, `x/${uuid(4)}/2023-02-29/1.2.3.4`],
  ],
  'template hostname': [
    z.templateLiteral(['https://', z.hostname(), '/']),
    ['https://a.de/', `https://${LONGEST.slice(1)}/`], ['https://a..de/', 'https://a', `https://${LONGEST}bb/`],
  ],
  // zod itself reads this pattern without the flag u, as a set of letters
  'template emoji': [z.templateLiteral([z.emoji()]), [], ['']],
  'template nested': [z.templateLiteral(['a', z.templateLiteral(['b', z.number()])]), ['ab1'], ['a1']],
  'template nullable': [z.templateLiteral(['a', z.int().nullable()]), ['a1', 'anull'], ['a', 'ax']],
  object: [
    z.object({ a: z.string(), b: z.int().optional() }), [{ a: 'x' }, { a: 'x', b: 1 }], [{}, { a: 1 }, []],
  ],
  strictObject: [z.strictObject({ a: z.string() }), [{ a: 'x' }], [{}, { a: 'x', b: 1 }]],
  looseObject: [z.looseObject({ a: z.string() }), [{ a: 'x' }, { a: 'x', b: 1 }], [{}]],
  catchall: [z.object({ a: z.string() }).catchall(z.int()), [{ a: 'x', b: 1 }], [{ a: 'x', b: 'y' }]],
  partial: [z.object({ a: z.string(), b: z.int() }).partial(), [{}, { a: 'x' }], [{ a: 1 }]],
  deepPartial: [z.deepPartial(z.object({ a: z.object({ b: z.int() }) })), [{}, { a: {} }], [{ a: { b: 'x' } }]],
  exactOptional: [z.object({ a: z.exactOptional(z.string()) }), [{}, { a: 'x' }], [{ a: 1 }]],
  keyof: [z.keyof(z.object({ a: z.string(), b: z.int() })), ['a', 'b'], ['c']],
  array: [z.array(z.string()), [[], ['a']], [[1], 'a']],
  'array bounds': [z.array(z.int()).min(1).max(3), [[1], [1, 2, 3]], [[], [1, 2, 3, 4]]],
  // OpenAPI 3.0 has no types of single items
  tuple: [z.tuple([z.string(), z.int()]), [['a', 1]], [['a'], ['a', null], 'a']],
  'tuple rest': [z.tuple([z.string()], z.int()), [['a'], ['a', 1, 2]], [[], ['a', null]]],
  record: [z.record(z.string(), z.int()), [{}, { a: 1 }], [{ a: 'x' }]],
  'record enum': [z.record(z.enum(['a', 'b']), z.int()), [{ a: 1, b: 2 }], [{ a: 1, b: 'x' }]],
  'record number': [z.record(z.number(), z.int()), [{}, { 1: 2 }], [{ 1: 'x' }]],
  'record regex': [z.record(z.string().regex(/^x-/), z.int()), [{}, { 'x-a': 1 }], [{ 'x-a': 'y' }]],
  'record hostname': [z.record(z.hostname(), z.int()), [{}, { 'a.de': 1 }], [{ 'a.de': 'x' }]],
  'record template': [z.record(z.templateLiteral(['x', z.number()]), z.int()), [{ x1: 1 }], [{ x1: 'y' }]],
  partialRecord: [z.partialRecord(z.enum(['a', 'b']), z.int()), [{}, { a: 1 }], [{ a: 'x' }]],
  looseRecord: [z.looseRecord(z.string().regex(/^x-/), z.int()), [{ 'x-a': 1, b: 'c' }], [{ 'x-a': 'y' }]],
  'looseRecord hostname': [z.looseRecord(z.hostname(), z.int()), [{ 'a.de': 1, '-': 'c' }], [{ 'a.de': 'y' }]],
  union: [z.union([z.string(), z.int()]), ['a', 1], [1.5, null]],
  xor: [
    z.xor([z.strictObject({ a: z.string() }), z.strictObject({ b: z.string() })]), [{ a: 'x' }, { b: 'x' }], [{}],
  ],
  'xor strings': [z.xor([z.string().regex(/^a/), z.string().regex(/z$/)]), ['ab', 'yz'], ['az', 'b']],
  'xor hostname': [z.xor([z.string().regex(v.hostname), z.string().max(3)]), ['a.de', '-', '-.-'], ['a', '-.--']],
  'xor formats': [z.xor([z.hostname(), z.email()]), ['a.de', 'a@b.de'], ['', 'a b']],
  'xor domain': [z.xor([z.string().regex(v.domain), z.uuid()]), ['a.de', uuid(4)], ['', 'a']],
  discriminatedUnion: [
    z.discriminatedUnion('t', [z.object({ t: z.literal('a'), x: z.int() }), z.object({ t: z.literal('b') })]),
    [{ t: 'a', x: 1 }, { t: 'b' }], [{ t: 'c' }, { t: 'a' }],
  ],
  intersection: [
    z.intersection(z.object({ a: z.string() }), z.object({ b: z.int() })), [{ a: 'x', b: 1 }], [{ a: 'x' }],
  ],
  'intersection strings': [z.string().min(2).and(z.string().max(4)), ['ab'], ['a', 'abcde']],
  nullable: [z.nullable(z.string()), ['a', null], [1]],
  nullish: [z.object({ a: z.nullish(z.string()) }), [{}, { a: null }], [{ a: 1 }]],
  nonoptional: [z.nonoptional(z.string().optional()), ['a'], [1]],
  readonly: [z.array(z.string()).readonly(), [['a']], [[1]]],
  brand: [z.string().brand('x'), ['a'], [1]],
  pipe: [z.string().pipe(z.string().min(2)), ['ab'], [1]],
  refine: [z.string().refine((text) => text.length > 2), ['abc'], [1]],
  preprocess: [z.preprocess((value) => value, z.string()), ['a'], []],
  json: [z.json(), [null, { a: [1, 'b', true] }], []],
  lazy: [json, ['a', [1, [null]]], [true, [{}]]],
  recursive: [tree, [{ value: 'a', children: [{ value: 'b', children: [] }] }], [{ value: 'a' }]],
  'mutually recursive': [
    user, [{ name: 'a', posts: [{ title: 'b', author: { name: 'c', posts: [] } }] }], [{ name: 'a', posts: [{}] }],
  ],
  meta: [z.object({ a: z.int().meta({ id: 'Num' }), b: z.int() }), [{ a: 1, b: 2 }], [{ a: 1 }]],
  // what differs between input and output; values are those of both
  default: [z.object({ a: z.string().default('x') }), [{ a: 'y' }], [{ a: 1 }]],
  prefault: [z.object({ a: z.string().prefault('x') }), [{ a: 'y' }], [{ a: 1 }]],
  catch: [z.object({ a: z.int().catch(1) }), [{ a: 2 }], []],
  together: [
    z.object({
      id: z.uuid(), mail: z.email(), host: z.hostname(), at: z.iso.datetime({ offset: true }),
      length: z.iso.duration(), mood: z.emoji(), site: z.url(), tags: z.array(z.string().min(1)).max(2),
    }),
    [{ id: uuid(7), mail: 'a@b.de', host: 'a.de', at: '2024-02-29T12:30:00Z', length: 'PT1H', mood: '😀',
      site: 'https://a.de', tags: ['x'] }],
    [{ id: uuid(7) }],
  ],
}

// types of which zod says that JSON Schema has no form
export const WITHOUT = {
  bigint: z.bigint(), date: z.date(), map: z.map(z.string(), z.int()), set: z.set(z.string()),
  symbol: z.symbol(), undefined: z.undefined(), void: z.void(), nan: z.nan(), int64: z.int64(),
  function: z.function(), custom: z.custom(), 'bigint literal': z.literal(3n),
}

// The schemas of a type, each once.
export function schemasOf(type) {
  const found = new Map()
  for (const target of TARGETS)
    for (const io of DIRECTIONS) {
      const schema = z.toJSONSchema(type, { target, io })
      const { $schema, ...rest } = schema
      // draft 4 and OpenAPI 3.0 have meanings of their own
      const text = JSON.stringify([rest, ['draft-4', 'openapi-3.0'].includes(target) ? target : ''])
      if (!found.has(text)) found.set(text, schema)
    }
  return [...found.values()]
}

function recorded() {
  const cases = {}
  const wrong = []
  for (const [name, [type, accepted, refused]] of Object.entries(TYPES)) {
    for (const value of [...accepted, ...refused])
      if (type.safeParse(value).success !== accepted.includes(value))
        wrong.push(`${name}: ${JSON.stringify(value)}`)
    cases[name] = { schemas: schemasOf(type), accepted, refused }
  }
  if (wrong.length) throw new Error(`zod judges otherwise\n${wrong.join('\n')}`)
  return cases
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const lines = Object.entries(recorded())
    .map(([name, each]) => `${JSON.stringify(name)}: ${JSON.stringify(each)}`)
  process.stdout.write(`{\n${lines.join(',\n')}\n}\n`)
}
