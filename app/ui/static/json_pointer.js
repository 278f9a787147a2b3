// Where the values of a JSON text are, by JSON pointer (RFC 6901).

const SPACE = /[\t\n\r ]*/y;
const SCALAR = /true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\]|\\.)*"/y;
// deeper texts are refused by the gateway, too
const MOST_DEPTH = 200;

// Return {pointer: [start, end]} of all values; a member's range begins at its key. The text must be JSON.
export function ranges(text) {
  const found = new Map();
  let at = 0;

  function take(pattern) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match) at = pattern.lastIndex;
    return match ? match[0] : null;
  }

  function list(pointer, depth, isObject) {
    at += 1;
    for (let number = 0; ; number += 1) {
      take(SPACE);
      if (text[at] === "}" || text[at] === "]") { at += 1; return; }
      const start = at;
      let step = String(number);
      if (isObject) {
        step = JSON.parse(take(STRING) ?? '""').replaceAll("~", "~0").replaceAll("/", "~1");
        take(SPACE);
        at += 1;
      }
      value(`${pointer}/${step}`, start, depth + 1);
      take(SPACE);
      if (text[at] === ",") at += 1;
      if (at >= text.length) return;
    }
  }

  function value(pointer, start, depth) {
    take(SPACE);
    const begin = start ?? at;
    if (depth > MOST_DEPTH) { at = text.length; return; }
    if (text[at] === "{" || text[at] === "[") list(pointer, depth, text[at] === "{");
    else if ((take(STRING) ?? take(SCALAR)) === null) at += 1;
    found.set(pointer, [begin, at]);
  }

  value("", null, 0);
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
