// What an explanation says about a constraint: refused, relaxed and ineffective keywords.

// Return {tone, title, text, pointer}; pointers lead into the request
export function findingsOf(answer) {
  const found = [];
  if (answer.error) found.push({ tone: "bad", title: "Refused", text: answer.error.message, pointer: answer.error.pointer });
  for (const each of answer.relaxed) found.push({ tone: "warn", title: `Relaxed: ${each.keyword}`, text: each.reason, pointer: each.pointer });
  if (answer.more_relaxed) found.push({ tone: "warn", title: "Relaxed", text: `${answer.more_relaxed} more places`, pointer: null });
  const known = new Set(found.map((each) => each.pointer));
  for (const schema of answer.schemas) {
    const add = (tone, title, each) => {
      const pointer = schema.pointer + each.pointer;
      if (!known.has(pointer)) found.push({ tone, title, text: each.reason, pointer });
    };
    if (schema.mistake) add("bad", "Mistake", schema.mistake);
    for (const each of schema.refused) add(answer.error ? "bad" : "warn", `Not enforced: ${each.keyword}`, each);
    for (const each of schema.annotations) add("note", `No effect: ${each.keyword}`, each);
  }
  return found;
}

// Return the enforced keywords of all schemas with their numbers
export function enforced(answer) {
  const counts = new Map();
  for (const schema of answer.schemas) {
    for (const [name, count] of Object.entries(schema.enforced)) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return [...counts].map(([name, count]) => (count > 1 ? `${name} (${count})` : name)).join(", ");
}
