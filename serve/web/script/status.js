// status.js - the status page: reads /metrics every two seconds and shows rates between readings.

const POLL_MS = 2000;
const SPAN_MS = 5 * 60 * 1000;
const FIRST_SPAN_MS = 60 * 1000; // of the axis, until there are more readings

const status = { readings: [], paused: false, timer: 0, charts: [] };

// ---- Charts: each gives the values of two readings

// A counter that has become smaller belongs to a server that was started again.
function perSecond(a, b, name) {
  return Math.max(0, sumOf(b.metrics, name) - sumOf(a.metrics, name)) / ((b.time - a.time) / 1000);
}

const latency = (a, b, name) => [0.5, 0.99].map((q) => quantileBetween(a.metrics, b.metrics, name, q));

function share(metrics, name) {
  const blocks = sumOf(metrics, "quire_kv_blocks");
  return blocks > 0 ? sumOf(metrics, name) / blocks : null;
}

function chartList() {
  return [
    { title: t("tokensRate"), series: [t("generated"), t("promptTokens")], format: compact, top: 10,
      values: (a, b) => ["quire_engine_tokens_sampled_total", "quire_engine_prompt_tokens_computed_total"]
        .map((name) => perSecond(a, b, name)) },
    { title: t("requests"), series: [t("running"), t("waiting")], format: compact, top: 4,
      values: (a, b) => [sumOf(b.metrics, "quire_requests_running"), sumOf(b.metrics, "quire_requests_waiting")] },
    { title: t("betweenTokens"), series: [t("median"), t("slowest")], format: formatSeconds, top: 0.01,
      values: (a, b) => latency(a, b, "quire_inter_token_latency_seconds") },
    { title: t("firstTokenShort"), series: [t("median"), t("slowest")], format: formatSeconds, top: 0.1,
      values: (a, b) => latency(a, b, "quire_time_to_first_token_seconds") },
    { title: t("kvCache"), series: [t("used"), t("cached")], format: percent, top: 1,
      values: (a, b) => [share(b.metrics, "quire_kv_blocks_used"), share(b.metrics, "quire_kv_blocks_cached")] },
    { title: t("memory"), series: [t("memory")], format: formatBytes, top: 1 << 20, base: 1024,
      values: (a, b) => [sumOf(b.metrics, "process_resident_memory_bytes")] },
  ];
}

// ---- Texts of values

const percent = (value) => value.toLocaleString(locale.code, { style: "percent", maximumFractionDigits: 1 });

const compact = (value) => value.toLocaleString(locale.code, { notation: "compact", maximumFractionDigits: value < 10 ? 1 : 0 });

function formatSeconds(value) {
  if (value >= 1) return t("seconds", { value: formatNumber(value, 1) });
  return t("milliseconds", { value: formatNumber(value * 1000, value < 0.01 ? 1 : 0) });
}

function formatBytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(value, 1)) / 10));
  return `${formatNumber(value / 1024 ** power, power > 2 ? 1 : 0)} ${units[power]}`;
}

function formatDuration(seconds) {
  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const first = Math.max(0, units.findIndex(([, size]) => seconds >= size));
  let rest = Math.max(0, Math.floor(seconds));
  return units.slice(first, first + 2).map(([unit, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count.toLocaleString(locale.code, { style: "unit", unit, unitDisplay: "narrow" });
  }).join(" ");
}

// ---- Facts and models

function facts(reading) {
  const { metrics, time } = reading;
  const before = status.readings[0];
  const started = sumOf(metrics, "process_start_time_seconds");
  const prompt = sumOf(metrics, "quire_prompt_tokens_total");
  const cpu = before === reading ? null : perSecond(before, reading, "process_cpu_seconds_total");
  return [
    [t("uptime"), started > 0 ? formatDuration(time / 1000 - started) : "–"],
    [t("running"), formatNumber(sumOf(metrics, "quire_requests_running"))],
    [t("waiting"), formatNumber(sumOf(metrics, "quire_requests_waiting"))],
    [t("answers"), formatNumber(sumOf(metrics, "quire_answers_total"))],
    [t("refused"), formatNumber(sumOf(metrics, "quire_requests_refused_total"))],
    [t("cacheHits"), prompt > 0 ? percent(sumOf(metrics, "quire_prompt_cached_tokens_total") / prompt) : "–"],
    [t("cpu"), cpu === null ? "–" : t("cores", { value: formatNumber(cpu, 1) })],
    [t("version"), metrics.get("quire_build_info")?.[0]?.labels.version ?? "–"],
  ];
}

function modelRow(metrics, model) {
  const labels = { model };
  const isOpen = sumOf(metrics, "quire_model_open", labels) > 0;
  const blocks = sumOf(metrics, "quire_kv_blocks", labels);
  const prompt = sumOf(metrics, "quire_prompt_tokens_total", labels);
  return [
    t(isOpen ? "open" : "closed"),
    isOpen ? formatBytes(sumOf(metrics, "quire_model_memory_bytes", labels)) : "–",
    formatNumber(sumOf(metrics, "quire_requests_running", labels)),
    formatNumber(sumOf(metrics, "quire_requests_waiting", labels)),
    formatNumber(sumOf(metrics, "quire_answers_total", labels)),
    formatNumber(sumOf(metrics, "quire_completion_tokens_total", labels)),
    blocks > 0 ? `${formatNumber(sumOf(metrics, "quire_kv_blocks_used", labels))} / ${formatNumber(blocks)}` : "–",
    prompt > 0 ? percent(sumOf(metrics, "quire_prompt_cached_tokens_total", labels) / prompt) : "–",
  ];
}

function showModels(metrics) {
  const heads = ["model", "state", "memory", "running", "waiting", "answers", "generated", "kvBlocks", "cacheHits"];
  const rows = labelValues(metrics, "model").map((model) =>
    el("tr", {}, el("th", { scope: "row" }, model), ...modelRow(metrics, model).map((text) => el("td", {}, text))));
  byId("models").replaceChildren(el("table", {},
    el("thead", {}, el("tr", {}, ...heads.map((key) => el("th", { scope: "col" }, t(key))))), el("tbody", {}, ...rows)));
}

// ---- Polling

async function poll() {
  clearTimeout(status.timer);
  try {
    const text = await readMetrics();
    if (text !== null) addReading({ time: Date.now(), metrics: parseMetrics(text) });
  } finally {
    schedulePoll();
  }
}

// Null: the page says why there are none.
async function readMetrics() {
  try {
    const text = await (await callApi("metrics")).text();
    hideProblem();
    return text;
  } catch (error) {
    showProblem(error);
    return null;
  }
}

function schedulePoll() {
  clearTimeout(status.timer);
  if (!status.paused && !document.hidden) status.timer = setTimeout(poll, POLL_MS);
}

// Keeps the readings of the time span, and the chart points between them.
function addReading(reading) {
  const before = status.readings.at(-1);
  status.readings = [...status.readings, reading].filter((one) => reading.time - one.time <= SPAN_MS);
  byId("updated").textContent = t("updatedAt", { time: new Date(reading.time).toLocaleTimeString(locale.code) });
  byId("facts").replaceChildren(...facts(reading).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
  showModels(reading.metrics);
  for (const { chart, values, points } of status.charts) {
    points.push({ time: reading.time, values: values(before ?? reading, reading).map((v) => (Number.isFinite(v) ? v : null)) });
    while (reading.time - points[0].time > SPAN_MS) points.shift();
    chart.show(points, Math.max(FIRST_SPAN_MS, reading.time - points[0].time));
  }
}

function showProblem(error) {
  byId("notice").textContent = error.status === 404 ? t("noMetrics") : error.status === 401 ? t("keyNeeded") : error.message;
  byId("notice").hidden = false;
  byId("key-form").hidden = error.status !== 401;
}

function hideProblem() {
  byId("notice").hidden = true;
  byId("key-form").hidden = true;
}

function togglePause() {
  status.paused = !status.paused;
  const button = byId("pause");
  button.replaceChildren(icon(status.paused ? "play" : "pause"), el("span", {}, t(status.paused ? "resume" : "pause")));
  announce(t(status.paused ? "paused" : "resume"));
  if (status.paused) clearTimeout(status.timer);
  else poll();
}

function startStatus() {
  applyTheme(readTheme());
  startLanguage();
  document.title = `${t("statusTitle")} · quire`;
  status.charts = chartList().map((one) => ({ chart: new Chart(one), values: one.values, points: [] }));
  byId("charts").append(...status.charts.map((one) => one.chart.element));
  byId("updated").textContent = t("connecting");
  byId("pause").addEventListener("click", togglePause);
  byId("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    writeApiKey(byId("key").value.trim(), isKeyKept());
    poll();
  });
  document.addEventListener("visibilitychange", () => (document.hidden || status.paused ? clearTimeout(status.timer) : poll()));
  document.body.classList.remove("loading");
  poll();
}

startStatus();
