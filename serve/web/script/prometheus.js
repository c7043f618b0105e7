// prometheus.js - reads metrics in Prometheus' text format.

const SAMPLE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;

// Map of metric name -> [{labels, value}].
function parseMetrics(text) {
  const metrics = new Map();
  for (const line of text.split("\n")) {
    const found = line.startsWith("#") ? null : SAMPLE.exec(line);
    if (!found) continue;
    if (!metrics.has(found[1])) metrics.set(found[1], []);
    metrics.get(found[1]).push({ labels: parseLabels(found[2] ?? ""), value: parseValue(found[3]) });
  }
  return metrics;
}

function parseLabels(text) {
  const unescape = (value) => value.replace(/\\(.)/g, (all, c) => (c === "n" ? "\n" : c));
  return Object.fromEntries([...text.matchAll(LABEL)].map((m) => [m[1], unescape(m[2])]));
}

const parseValue = (text) => (text === "+Inf" ? Infinity : text === "-Inf" ? -Infinity : Number(text));

const matches = (labels, wanted) => Object.entries(wanted).every(([name, value]) => labels[name] === value);

// Sum over all series with these labels.
function sumOf(metrics, name, labels = {}) {
  return (metrics.get(name) ?? []).reduce((sum, one) => sum + (matches(one.labels, labels) ? one.value : 0), 0);
}

function labelValues(metrics, label) {
  const values = new Set();
  for (const series of metrics.values()) for (const one of series) if (label in one.labels) values.add(one.labels[label]);
  return [...values].sort();
}

// Quantile of what a histogram counted between two readings; null if it counted nothing.
function quantileBetween(before, after, name, quantile, labels = {}) {
  const buckets = bucketCounts(after, name, labels);
  for (const [limit, count] of bucketCounts(before, name, labels)) buckets.set(limit, (buckets.get(limit) ?? 0) - count);
  const limits = [...buckets.keys()].sort((a, b) => a - b);
  const total = buckets.get(limits.at(-1)) ?? 0;
  if (total <= 0) return null;
  const rank = quantile * total;
  let low = 0;
  let below = 0;
  for (const limit of limits) {
    const count = buckets.get(limit);
    if (count >= rank && limit !== Infinity) return low + ((limit - low) * (rank - below)) / Math.max(count - below, 1e-9);
    if (limit === Infinity) break;
    low = limit;
    below = count;
  }
  return low; // above the last bucket: its lower limit
}

function bucketCounts(metrics, name, labels) {
  const counts = new Map();
  for (const one of metrics.get(`${name}_bucket`) ?? []) {
    if (!matches(one.labels, labels)) continue;
    const limit = parseValue(one.labels.le);
    counts.set(limit, (counts.get(limit) ?? 0) + one.value);
  }
  return counts;
}
