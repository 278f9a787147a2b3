// Rates from two readings of /metrics, in Prometheus's text format.

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function parse(text) {
  const found = [];
  for (const line of text.split("\n")) {
    const match = line[0] === "#" ? null : LINE.exec(line);
    if (!match) continue;
    const labels = Object.fromEntries([...(match[2] ?? "").matchAll(LABEL)].map((m) => [m[1], m[2]]));
    found.push({ name: match[1].replace(/^switchyard_/, ""), labels, value: Number(match[3]) });
  }
  return found;
}

export function sum(samples, name, fits = () => true) {
  let total = 0;
  for (const each of samples) if (each.name === name && fits(each.labels)) total += each.value;
  return total;
}

// Increase per second of a counter; null without an earlier reading
export function rate(now, before, name, fits) {
  if (!before) return null;
  const seconds = (now.at - before.at) / 1000;
  const grown = sum(now.samples, name, fits) - sum(before.samples, name, fits);
  return seconds > 0 ? Math.max(0, grown) / seconds : null;
}

// Mean of a histogram since start; null while it is empty
export function mean(samples, name) {
  const count = sum(samples, `${name}_count`);
  return count > 0 ? sum(samples, `${name}_sum`) / count : null;
}
