// chart.js - line charts over the last minutes, drawn as SVG.

const CHART_HEIGHT = 170;
const AXIS_WIDTH = 58;
const AXIS_HEIGHT = 20;

// A chart of one or two series. `format` turns a value into text; `top` is the least upper end of the
// axis, `base` the factor between its units (1024 for bytes).
class Chart {
  constructor({ title, series, format, top, base = 10 }) {
    Object.assign(this, { series, format, top, base, points: [], cursor: null });
    this.svg = svgEl("svg", { role: "img", "aria-label": title });
    this.legends = series.map((name, i) =>
      el("span", { className: `legend series-${i}` }, el("i"), el("span", {}, name), el("b")));
    this.title = title;
    this.element = el("figure", { className: "chart" }, el("figcaption", {}, el("h2", {}, title), ...this.legends), this.svg);
    this.svg.addEventListener("pointermove", (event) => this.moveCursor(event));
    this.svg.addEventListener("pointerleave", () => this.moveCursor(null));
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  // points: [{time, values: [number or null]}], oldest first; span in milliseconds.
  show(points, span) {
    this.points = points;
    this.span = span;
    this.draw();
  }

  moveCursor(event) {
    this.cursor = event ? event.clientX - this.svg.getBoundingClientRect().left : null;
    this.draw();
  }

  draw() {
    const width = this.svg.clientWidth;
    if (width === 0 || this.points.length === 0) return;
    const end = this.points.at(-1).time;
    const high = niceTop(Math.max(this.top, ...this.points.flatMap((p) => p.values.map((v) => v ?? 0))), this.base);
    this.x = (time) => AXIS_WIDTH + (width - AXIS_WIDTH) * (1 - (end - time) / this.span);
    this.y = (value) => 8 + (CHART_HEIGHT - AXIS_HEIGHT - 8) * (1 - value / high);
    const shown = this.pointAtCursor() ?? this.points.at(-1);
    const lines = this.series.map((name, i) => this.line(i));
    this.svg.replaceChildren(...this.axes(width, high), ...lines, ...this.cursorLine(shown));
    this.legends.forEach((legend, i) => (legend.querySelector("b").textContent = this.text(shown.values[i])));
    const latest = this.series.map((name, i) => `${name} ${this.text(this.points.at(-1).values[i])}`);
    this.svg.setAttribute("aria-label", `${this.title}: ${latest.join(", ")}`);
  }

  text(value) {
    return value === null ? "–" : this.format(value);
  }

  axes(width, high) {
    const parts = [];
    for (const value of [0, high / 2, high]) {
      const y = this.y(value);
      parts.push(svgEl("line", { class: "grid", x1: AXIS_WIDTH, x2: width, y1: y, y2: y }),
        svgEl("text", { x: AXIS_WIDTH - 8, y: y + 4, "text-anchor": "end" }, this.format(value)));
    }
    const seconds = Math.round(this.span / 1000);
    parts.push(svgEl("text", { x: width, y: CHART_HEIGHT - 2, "text-anchor": "end" }, t("now")),
      svgEl("text", { x: AXIS_WIDTH, y: CHART_HEIGHT - 2 }, t("ago", { seconds })));
    return parts;
  }

  // The line of a series with the area below; null values are gaps.
  line(i) {
    const base = this.y(0).toFixed(1);
    let line = "";
    let area = "";
    for (const run of this.runs(i)) {
      const places = run.map((p) => `${this.x(p.time).toFixed(1)} ${this.y(p.values[i]).toFixed(1)}`).join("L");
      line += `M${places}`;
      area += `M${this.x(run[0].time).toFixed(1)} ${base}L${places}L${this.x(run.at(-1).time).toFixed(1)} ${base}Z`;
    }
    return svgEl("g", { class: `series-${i}` },
      svgEl("path", { class: "area-path", d: area }), svgEl("path", { class: "line-path", d: line }));
  }

  // Points of a series between gaps.
  runs(i) {
    const runs = [];
    this.points.forEach((point, at) => {
      if (point.values[i] === null) return;
      if (at === 0 || this.points[at - 1].values[i] === null) runs.push([]);
      runs.at(-1).push(point);
    });
    return runs;
  }

  pointAtCursor() {
    if (this.cursor === null) return null;
    return this.points.reduce((best, p) =>
      (Math.abs(this.x(p.time) - this.cursor) < Math.abs(this.x(best.time) - this.cursor) ? p : best));
  }

  cursorLine(point) {
    if (this.cursor === null) return [];
    const x = this.x(point.time);
    return [svgEl("line", { class: "cursor", x1: x, x2: x, y1: 8, y2: CHART_HEIGHT - AXIS_HEIGHT })];
  }
}

// A round number that is not below the value, and whose half is round as well.
function niceTop(value, base) {
  const unit = base === 10 ? 1 : base ** Math.floor(Math.log2(value) / Math.log2(base));
  const power = 10 ** Math.floor(Math.log10(value / unit)) * unit;
  return power * [1, 2, 4, 6, 8, 10].find((factor) => factor * power >= value * 0.999);
}
