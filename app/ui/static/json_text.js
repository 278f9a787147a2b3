// JSON texts: their values, where these are by JSON pointer (RFC 6901), and the place of an error.

const SPACE = /[\t\n\r ]*/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// a string without its last quote
const OPEN = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*/y;
// deeper texts are refused by the gateway, too
const MOST_DEPTH = 200;

export class JsonError extends Error {
  constructor(text, at, wanted) {
    const before = text.slice(0, at);
    const line = before.split("\n").length;
    const column = at - before.lastIndexOf("\n");
    const got = at < text.length ? JSON.stringify(String.fromCodePoint(text.codePointAt(at))) : "the end of the text";
    super(`Line ${line}, column ${column}: expected ${wanted}, got ${got}.`);
    this.range = at < text.length ? [at, at + 1] : [Math.max(0, at - 1), at];
  }
}

// Numbers that JavaScript would round, such as 2^53 + 1, keep their spelling.
const exact = JSON.rawJSON && ((name, value, context) =>
  (typeof value === "number" && context?.source !== undefined && String(value) !== context.source ? JSON.rawJSON(context.source) : value));

// Return {value, places}, with places as {pointer: [start, end]}; throw JsonError at the first wrong character.
export function parse(text) {
  const places = ranges(text);
  return { value: JSON.parse(text, exact), places };
}

// a member's range begins at its key
function ranges(text) {
  const found = new Map();
  let at = 0;

  function fail(wanted) { throw new JsonError(text, at, wanted); }

  function take(pattern) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match) at = pattern.lastIndex;
    return match ? match[0] : null;
  }

  // Return the string here with its quotes; null: there is none
  function string() {
    const taken = take(OPEN);
    if (taken === null) return null;
    if (text[at] !== '"') fail(text[at] === "\\" ? "a valid escape" : "a quote at the end of the string");
    at += 1;
    return `${taken}"`;
  }

  function name() {
    const taken = string();
    if (taken === null) fail("a name in double quotes");
    take(SPACE);
    if (text[at] !== ":") fail('":"');
    at += 1;
    return JSON.parse(taken).replaceAll("~", "~0").replaceAll("/", "~1");
  }

  function list(pointer, depth, close) {
    at += 1;
    take(SPACE);
    if (text[at] === close) { at += 1; return; }
    for (let number = 0; ; number += 1) {
      take(SPACE);
      const start = at;
      const step = close === "}" ? name() : String(number);
      value(`${pointer}/${step}`, start, depth + 1);
      take(SPACE);
      if (text[at] !== "," && text[at] !== close) fail(`"," or "${close}"`);
      at += 1;
      if (text[at - 1] === close) return;
    }
  }

  function value(pointer, start, depth) {
    take(SPACE);
    const begin = start ?? at;
    if (depth > MOST_DEPTH) fail(`at most ${MOST_DEPTH} levels`);
    if (text[at] === "{") list(pointer, depth, "}");
    else if (text[at] === "[") list(pointer, depth, "]");
    else if ((string() ?? take(SCALAR)) === null) fail("a value");
    found.set(pointer, [begin, at]);
  }

  value("", null, 0);
  take(SPACE);
  if (at < text.length) fail("the end of the text");
  return found;
}

// Return the range of a pointer, or of the closest value around it
export function locate(found, pointer) {
  let wanted = pointer;
  for (;;) {
    const range = found.get(wanted);
    if (range) return range;
    const slash = wanted.lastIndexOf("/");
    if (slash < 0) return null;
    wanted = wanted.slice(0, slash);
  }
}

// The pointer of a field as errors name it: tools[0].function.name
export const pointerOf = (param) => `/${param.replaceAll("[", "/").replaceAll("]", "").replaceAll(".", "/")}`;
