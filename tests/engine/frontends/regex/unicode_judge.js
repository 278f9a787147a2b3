// What Node says about names of Unicode properties and about letters of either case.
// stdin   {"names": [...], "letters": [...]}
// stdout  {"unicode": version, "found": {name: ranges of \p{name} with the flag u, or null},
//          "alike": {letter: the letters that it matches with the flags i and u}}
const { readFileSync } = require('node:fs')

const { names, letters } = JSON.parse(readFileSync(0, 'utf8'))
let text = ''
for (const [low, high] of [[0, 0xd7ff], [0xe000, 0x10ffff]])
  for (let c = low; c <= high; c++) text += String.fromCodePoint(c)
// from an index of the text to its character
const FIRST_PAIR = 0xf800
const at = (index) =>
  index < 0xd800 ? index : index < FIRST_PAIR ? index + 0x800 : 0x10000 + (index - FIRST_PAIR) / 2

const found = {}
for (const name of names) {
  let pattern
  try {
    pattern = new RegExp(`\\p{${name}}+`, 'gu')
  } catch {
    found[name] = null
    continue
  }
  found[name] = Array.from(text.matchAll(pattern), ({ 0: run, index }) => [
    at(index), at(index + run.length) - 1,
  ])
}

const cased = new Set(letters.map((c) => String.fromCodePoint(c)))
if (letters.length)
  for (const c of text) if (c.toLowerCase() !== c || c.toUpperCase() !== c) cased.add(c)
const all = [...cased].join('')
const alike = {}
for (const c of cased) {
  const matched = all.match(new RegExp(`\\u{${c.codePointAt(0).toString(16)}}`, 'giu'))
  alike[c.codePointAt(0)] = matched.map((other) => other.codePointAt(0))
}
process.stdout.write(JSON.stringify({ unicode: process.versions.unicode, found, alike }))
