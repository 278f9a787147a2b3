// What the tests share: the gateway's address, and types as users of zod write them. Texts and lists
// are bounded, since noise ends a text only where it must, or by chance.
import { z } from 'zod'

export const baseURL = process.env.SERVED_URL
export const thinks = process.env.SERVED_THINKS === 'yes'
export const PROMPT = 'The weather in Oslo? Answer in JSON.'
// without a seed noise says something else in every turn, so a loop ends long before
export const TURNS = 50

// Seeds of eight turns, and of more until a model that thinks has thought: before a call that is
// required it may, but noise rarely does.
export function* seeds(hasThought) {
  for (let seed = 0; seed < 8 || (thinks && seed < 100 && !hasThought()); seed++) yield seed
}

const Short = z.string().max(8)
export const Place = z.object({ name: Short, country: z.enum(['no', 'se']) })
export const Weather = z.object({
  place: Place,
  celsius: z.number().min(-90).max(60).describe('at noon'),
  sky: z.enum(['clear', 'cloudy']),
  tags: z.array(Short).max(3),
  wind: z.int().nullable(),
})
export const Formats = z.object({
  day: z.iso.date(),
  at: z.iso.datetime({ offset: true }),
  length: z.iso.duration(),
  number: z.uuid(),
  address: z.ipv4(),
  code: z.string().regex(/^[A-Z]{3}-\d{2,4}$/),
})
export const Mail = z.object({ mail: z.email().max(30) })
export const Numbers = z.object({
  real: z.number(),
  whole: z.int(),
  percent: z.number().min(0).max(100),
  above: z.number().gt(0.5),
  even: z.int().multipleOf(2).min(0).lt(1000),
})
export const Shapes = z.object({
  shape: z.union([
    z.object({ kind: z.literal('circle'), radius: z.number().gt(0).lt(1000) }),
    z.object({ kind: z.literal('box'), sides: z.array(z.int()).length(2) }),
  ]),
  either: z.union([z.int(), Short, z.boolean(), z.null()]),
})
export const SHAPES = { Weather, Formats, Mail, Numbers, Shapes }
