const $ = (id) => document.getElementById(id);

// element makes an HTML element. Text is never parsed as HTML.
function element(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

// shape makes an SVG element.
function shape(tag, className, attributes) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  if (className) e.setAttribute("class", className);
  for (const name in attributes) e.setAttribute(name, attributes[name]);
  return e;
}

const rowHeight = 26;
const view = { from: 0, to: 1 }; // the time that is shown
const hidden = new Set(); // kinds of spans and marks that are not shown
let shown = []; // the rows that match the filter, in order
let width = 0; // of the bars, in pixels
let left = 0; // of the bars, from the left edge of the chart
let version = 0; // of what is drawn; rows that have another one are out of date

const xOf = (at) => (at - view.from) / (view.to - view.from) * width;
const timeAt = (x) => view.from + x / width * (view.to - view.from);
const round = (x) => Math.round(x * 10) / 10;

// Tall bars are work; thin ones are time in between.
const heights = { waiting: 3, setup: 8, running: 13, restarting: 5, stopping: 8 };

// Outlines are the paths of shapes by class. Those of one class are one element:
// a row may have thousands of spans and marks.
class Outlines {
  paths = new Map();

  add(className, d) {
    this.paths.set(className, (this.paths.get(className) ?? "") + d);
  }

  shapes() {
    return Array.from(this.paths, ([className, d]) => shape("path", className, { d }));
  }
}

// bars returns the shapes of spans. Where many fall on one pixel the first is drawn.
function bars(spans) {
  const outlines = new Outlines(), labels = [], middle = rowHeight / 2;
  let end = -4;
  for (const s of spans) {
    const until = xOf(s.to);
    if (until < end || hidden.has(s.kind)) continue;
    const from = xOf(s.from);
    if (from > width) break;
    const x1 = Math.max(from, end), x2 = Math.max(Math.min(until, width + 4), x1 + 1);
    const h = heights[s.kind];
    outlines.add(s.kind, `M${round(x1)} ${middle - h / 2}h${round(x2 - x1)}v${h}h${round(x1 - x2)}z`);
    if (s.count > 1) outlines.add("merged", `M${round(x1 + 2)} ${middle}H${round(x2 - 2)}`);
    if (s.open && until <= width) outlines.add("open", `M${round(x2 + 1.5)} 4v${rowHeight - 8}`);
    if (s.why && h < 6 && x2 - x1 > s.why.length * 6 + 24) {
      const label = shape("text", "why", { x: round((Math.max(x1, 0) + Math.min(x2, width)) / 2), y: middle + 3.5 });
      label.textContent = s.why;
      labels.push(label);
    }
    end = x2;
  }
  return [...outlines.shapes(), ...labels];
}

const forms = {
  diamond: (x, y, r) => `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`,
  circle: (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  up: (x, y, r) => `M${x - r} ${y + r}l${r} ${-2 * r}l${r} ${2 * r}z`,
  down: (x, y, r) => `M${x - r} ${y - r}l${r} ${2 * r}l${r} ${-2 * r}z`,
  square: (x, y, r) => `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
};
const formOf = { check: "circle", health: "circle", deployment: "up", service: "down", status: "square", registration: "square" };
const sizes = [2.8, 3.8, 4.4]; // by weight

// addMark adds a mark: the kind is its form, the weight its size and color.
function addMark(outlines, kind, weight, x, y, more = 0, match = false) {
  outlines.add(`mark ${kind} ${weights[weight]}${match ? " match" : ""}`, forms[formOf[kind] ?? "diamond"](round(x), y, sizes[weight] + more));
}

// icon returns an SVG element with one mark.
function icon(kind, weight, size) {
  const svg = shape("svg", "", { viewBox: `0 0 ${size} ${size}`, "aria-hidden": "true" }), outlines = new Outlines();
  addMark(outlines, kind, weight, size / 2, size / 2, .8);
  svg.append(...outlines.shapes());
  return svg;
}

// markShapes returns the shapes of marks. Of those that are too close to each
// other the one that matters most is drawn, a little larger.
function markShapes(marks, more = 0) {
  const outlines = new Outlines();
  for (let i = before(marks, timeAt(-8)); i < marks.length; i++) {
    const x = xOf(marks[i].at);
    if (x > width + 8) break;
    if (hidden.has(marks[i].kind)) continue;
    let top = marks[i], match = matches(top), several = 0;
    for (; i + 1 < marks.length && xOf(marks[i + 1].at) - x < 7; i++) {
      const next = marks[i + 1];
      if (hidden.has(next.kind)) continue;
      if (next.weight > top.weight) top = next;
      match ||= matches(next);
      several = .8;
    }
    addMark(outlines, top.kind, top.weight, xOf(top.at), rowHeight / 2, several + more, match);
  }
  return outlines.shapes();
}

// drawRow draws the bars and marks of a row.
function drawRow(row) {
  row.version = version;
  const shapes = bars(row.spans);
  for (const part of row.critical) {
    const x1 = Math.max(xOf(part.from), 0), x2 = Math.min(xOf(part.to), width);
    if (x2 >= x1) shapes.push(shape("rect", "critical", { x: round(x1), y: rowHeight - 4, width: round(Math.max(x2 - x1, 1.5)), height: 2.5 }));
  }
  const x = xOf(row.to);
  if (row.state === "failed" && x > -8 && x < width + 8) shapes.push(shape("path", "failed", { d: `M${round(x + 6)} 10l7 7m0 -7l-7 7` }));
  row.bars.replaceChildren(...shapes, ...markShapes(row.marks));
}

// drawPath joins the parts of the critical path across the rows.
function drawPath() {
  let d = "", last = null;
  const position = new Map(shown.map((row, i) => [row, i]));
  for (const part of run.critical) {
    const here = position.get(part.row), x = round(xOf(part.from));
    if (here === undefined) continue;
    if (last !== null && last !== here && x >= 0 && x <= width) {
      d += `M${x} ${last * rowHeight + rowHeight - 3}V${here * rowHeight + rowHeight - 3}`;
    }
    last = here;
  }
  $("path").replaceChildren(shape("path", "link", { d }));
}

// drawSteps draws the steps of the critical path in a line of their own.
function drawSteps() {
  const shapes = [], labels = [];
  for (const part of run.critical) {
    const x1 = Math.max(xOf(part.from), 0), x2 = Math.min(xOf(part.to), width);
    if (x2 <= x1) continue;
    const name = part.row ? part.row.name : "";
    const rect = shape("rect", part.row ? part.kind : "idle", { x: round(x1), y: 4, width: round(Math.max(x2 - x1, 1)), height: 16 });
    rect.dataset.row = part.row?.index ?? "";
    shapes.push(rect);
    const room = Math.floor((x2 - x1 - 8) / 6.3);
    if (room < 4) continue;
    const label = shape("text", "step", { x: round((x1 + x2) / 2), y: 16 });
    label.textContent = name.length <= room ? name : "…" + name.slice(name.length - room + 1);
    labels.push(label);
  }
  $("steps").replaceChildren(...shapes, ...labels);
}

// drawAxis draws ticks with their times, and a line through all rows for each.
function drawAxis() {
  const [step, at] = ticks(view.from, view.to, Math.max(2, width / 85));
  const shapes = [];
  let d = "";
  for (const t of at) {
    const x = round(xOf(t));
    d += `M${x} 0V${shown.length * rowHeight}`;
    shapes.push(shape("path", "tick", { d: `M${x} 18v6` }));
    const label = shape("text", "", { x, y: 13, "text-anchor": x < 12 ? "start" : x > width - 24 ? "end" : "middle" });
    label.textContent = t === 0 ? "0" : offset(t, step);
    shapes.push(label);
  }
  $("axis").replaceChildren(...shapes);
  $("grid").replaceChildren(shape("path", "grid", { d }));
  for (const id of ["grid", "path"]) {
    $(id).setAttribute("width", width);
    $(id).setAttribute("height", shown.length * rowHeight);
    $(id).style.left = left + "px";
  }
}

// area returns the outline of how many tasks run over the whole time.
function area(height) {
  const columns = Math.max(1, Math.floor(width / 2)), whole = wholeRun(), scale = columns / (whole.to - whole.from);
  const change = new Float64Array(columns + 2);
  for (const row of run.rows) {
    for (const s of row.spans) {
      if (s.kind !== "running") continue;
      const first = Math.floor((s.from - whole.from) * scale);
      change[first]++;
      change[Math.max(first + 1, Math.floor((s.to - whole.from) * scale))]--;
    }
  }
  let running = 0;
  const counts = Array.from(change.subarray(0, columns), (c) => running += c);
  const most = Math.max(1, ...counts);
  return `M0 ${height}${counts.map((n, i) => `L${i * 2} ${round(height - n / most * (height - 8))}h2`).join("")}V${height}z`;
}

// drawOverview draws the whole time, and what is shown of it.
let areaWidth = 0, areaPath = "";
function drawOverview() {
  const height = 40, whole = wholeRun(), place = (at) => round((at - whole.from) / (whole.to - whole.from) * width);
  if (areaWidth !== width) areaPath = area(height), areaWidth = width;
  const outlines = new Outlines();
  outlines.add("area", areaPath);
  for (const row of run.rows) if (row.state === "failed") outlines.add("trouble", `M${place(row.to) - 1} 0h2v7h-2z`);
  const shapes = outlines.shapes();
  if (!isWhole()) {
    const x = place(view.from);
    shapes.push(shape("rect", "brush", { x, y: .5, width: Math.max(place(view.to) - x, 2), height: height - 1 }));
  }
  $("overview").replaceChildren(...shapes);
}

// draw draws what is out of date, of the rows only those that can be seen.
let drawing = false;
function draw() {
  drawing = false;
  const chart = $("chart"), first = Math.floor(chart.scrollTop / rowHeight);
  const last = first + Math.ceil(chart.clientHeight / rowHeight) + 1;
  for (const row of shown.slice(first, last)) if (row.version !== version) drawRow(row);
}

// redraw draws everything again before the next frame.
function redraw() {
  version++;
  requestDraw(() => {
    drawAxis();
    drawOverview();
    drawPath();
    drawSteps();
    $("run").querySelector(".bars").replaceChildren(...markShapes(run.marks, 1.4));
    draw();
  });
}

let pending = null;
function requestDraw(what) {
  if (what) pending = what;
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    const now = pending ?? draw;
    pending = null;
    now();
  });
}

// measure finds where the bars are after the window has changed its size.
function measure() {
  const axis = $("axis").getBoundingClientRect();
  width = Math.max(axis.width, 50);
  left = axis.left - $("chart").getBoundingClientRect().left;
  redraw();
}
