const selected = { row: null, at: null }; // what the keyboard acts on
let opened = null; // the row whose details are shown

const glyphs = { pending: "○", running: "▶", complete: "✓", failed: "✕" };
const moods = { running: "busy", complete: "good", failed: "bad", lost: "bad" };
const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

// spanText says what a row did in a span.
function spanText(s) {
  const what = s.why ? `${s.kind} for ${s.why}` : s.kind;
  const times = s.count > 1 ? `, ${count(s.count, "attempt")}` : "";
  return `${what} · ${duration(s.to - s.from)}${s.open ? " so far" : ""}${times}`;
}

// stateText says how a row stands.
function stateText(row) {
  const parts = [row.state];
  if (row.exit !== null) parts.push(`exit code ${row.exit}`);
  if (row.stage) parts.unshift(row.stage);
  if (row.attempt > 0) parts.push(`replaces ${count(row.attempt, "failed allocation")}`);
  if (row.merged > 0) parts.push(`with ${count(row.merged, "earlier allocation")}`);
  if (row.restarts > 0) parts.push(count(row.restarts, "restart"));
  parts.push(row.took);
  if (row.critical.length > 0) parts.push(`${duration(row.critical.reduce((sum, c) => sum + c.to - c.from, 0))} on the critical path`);
  return parts.join(" · ");
}

const spanAt = (row, at) => row.spans.findLast((s) => s.from <= at && at <= s.to);

// near returns the marks that are drawn at a moment, the nearest first.
function near(marks, at) {
  const reach = 7 * (view.to - view.from) / width;
  return marks.slice(before(marks, at - reach), before(marks, at + reach)).filter((m) => !hidden.has(m.kind))
    .sort((a, b) => Math.abs(a.at - at) - Math.abs(b.at - at));
}

// note describes a mark, without its time.
function note(m, className) {
  const p = element("p", className);
  p.append(element("b", "", m.title));
  if (m.detail) p.append(" " + m.detail);
  return p;
}

// rowParts describes what happened in a row at a moment.
function rowParts(row, at) {
  const span = spanAt(row, at);
  const parts = [element("p", "span", span ? spanText(span) : row.name), ...markParts(row.marks, at)];
  const end = before(row.lines, at), lines = row.lines.slice(Math.max(0, end - 6), end);
  if (lines.length > 0) {
    const pre = element("pre");
    lines.forEach((line, i) => pre.append(element("span", line.stream, line.text + (i + 1 < lines.length ? "\n" : ""))));
    parts.push(pre);
  } else if (row.leftOut && row.lines.length > 0) {
    parts.push(element("p", "when", `The output until ${offset(row.lines[0].at, ms)} is not in this page.`));
  }
  return parts;
}

function markParts(marks, at) {
  const close = near(marks, at), parts = close.slice(0, 5).map((m) => note(m, "note"));
  if (close.length > 5) parts.push(element("p", "when", `and ${count(close.length - 5, "more event")}`));
  return parts;
}

// stepParts describes the step of the critical path at a moment.
function stepParts(at) {
  const step = run.critical.find((s) => s.from <= at && at <= s.to);
  if (!step) return [];
  const share = Math.round((step.to - step.from) / run.critical_length * 100);
  return [
    element("p", "span", step.row ? `${step.row.name}: ${step.kind}` : "No task was busy."),
    element("p", "note", `${duration(step.to - step.from)}, ${share} % of the critical path${step.count > 1 ? `, ${count(step.count, "attempt")}` : ""}`),
  ];
}

// showTip shows what happened at a moment beside a point of the window.
function showTip(parts, at, x, y) {
  const tip = $("tip");
  tip.replaceChildren(element("p", "when", `${offset(at, precision())} · ${clock(at)}`), ...parts);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const right = x + 14 + box.width < innerWidth ? x + 14 : x - 14 - box.width;
  const below = y + 18 + box.height < innerHeight ? y + 18 : y - 12 - box.height;
  tip.style.left = Math.max(4, right) + "px";
  tip.style.top = Math.max(4, below) + "px";
  point(at);
}

function hideTip() {
  $("tip").hidden = true;
  point(null);
}

// precision is what a pixel stands for, as a round number.
const precision = () => steps.findLast((s) => s <= Math.max(1, (view.to - view.from) / width)) ?? 1;

// point draws a line at a moment across all rows.
function point(at) {
  const cursor = $("cursor"), x = at === null ? -1 : xOf(at);
  cursor.style.visibility = x >= 0 && x <= width ? "visible" : "hidden";
  cursor.style.left = left + x + "px";
  cursor.style.height = $("chart").scrollHeight - 64 + "px";
}

// choose makes a row the one that the keyboard acts on.
function choose(row) {
  selected.row?.line.setAttribute("aria-selected", "false");
  if (selected.row) selected.row.line.tabIndex = -1;
  selected.row = row;
  row.line.setAttribute("aria-selected", "true");
  row.line.tabIndex = 0;
  if (opened && opened !== row) openDetails(row, selected.at);
}

// openDetails shows the events and the output of a row around a moment.
function openDetails(row, at) {
  const opening = opened === null;
  opened = row;
  selected.at = at ?? selected.at ?? row.to;
  hideTip();
  if (selected.row !== row) choose(row);
  $("details").hidden = false;
  $("details-title").textContent = row.name;
  $("details-state").textContent = stateText(row);
  listEvents(row);
  listOutput(row);
  if (opening) measure();
  row.line.scrollIntoView({ block: "nearest" });
}

function closeDetails() {
  opened = null;
  $("details").hidden = true;
  measure();
  selected.row?.line.focus();
}

// most is how many events are listed at once.
const most = 300;

const more = (text) => element("li", "more", text);

function listEvents(row) {
  const marks = row.marks, now = before(marks, selected.at);
  const first = Math.max(0, Math.min(now - most / 2, marks.length - most)), last = Math.min(marks.length, first + most);
  const items = marks.slice(first, last).map((m, i) => {
    const li = element("li", first + i === now - 1 ? "now" : "");
    li.dataset.at = m.at;
    li.append(element("time", "", offset(m.at, Math.min(precision(), ms))), icon(m.kind, m.weight, 12), note(m, "what"));
    return li;
  });
  if (first > 0) items.unshift(more(count(first, "earlier event")));
  if (last < marks.length) items.push(more(count(marks.length - last, "later event")));
  if (marks.length === 0) items.push(more("No events."));
  fill("events", items);
}

function listOutput(row) {
  const now = before(row.lines, selected.at);
  const items = row.lines.map((line, i) => {
    const li = element("li", i === now - 1 ? "now" : "");
    li.append(element("time", "", offset(line.at, ms)), element("span", "said " + line.stream, line.text));
    return li;
  });
  if (row.leftOut) items.unshift(more(row.leftOut));
  else if (row.lines.length === 0) items.push(more("No output."));
  fill("output", items);
}

// fill shows a list with its current entry in the middle.
function fill(id, items) {
  const list = $(id);
  list.replaceChildren(...items);
  const now = list.querySelector(".now");
  list.scrollTop = now ? now.offsetTop - list.offsetTop - list.clientHeight / 2 : 0;
}

// step goes to the next event of the chosen row, or to the one before.
function step(forward) {
  const row = selected.row, marks = row?.marks.filter((m) => !hidden.has(m.kind)) ?? [];
  if (marks.length === 0) return say("No events.");
  const at = selected.at ?? (forward ? -Infinity : Infinity);
  const m = forward ? marks.find((m) => m.at > at) : marks.findLast((m) => m.at < at);
  if (!m) return say(forward ? "No later event." : "No earlier event.");
  goTo(row, m.at);
  say(`${offset(m.at, Math.min(precision(), ms))}: ${m.title} ${m.detail}`);
}

// goTo shows a moment of a row.
function goTo(row, at) {
  selected.at = at;
  reveal(at);
  if (opened) {
    openDetails(row, at);
    return point(at);
  }
  const box = row.line.getBoundingClientRect();
  showTip(rowParts(row, at), at, left + xOf(at), box.bottom - 8);
}

// say tells a screen reader something.
const say = (text) => { $("spoken").textContent = text; };

const rowAt = (event) => run.rows[event.target.closest?.("#rows .row")?.dataset.index];

function startDetails() {
  $("close").onclick = closeDetails;
  $("events").onclick = (e) => {
    const li = e.target.closest("li[data-at]");
    if (li) goTo(opened, Number(li.dataset.at));
  };
  const hover = (e) => {
    const row = rowAt(e), x = barX(e);
    if (e.buttons !== 0 || x < 0 || x > width || e.pointerType === "touch") return hideTip();
    const at = timeAt(x), tip = (parts) => showTip(parts, at, e.clientX, e.clientY);
    if (row) tip(rowParts(row, at));
    else if (e.target.closest("#run")) tip(markParts(run.marks, at));
    else if (e.target.closest("#critical")) tip(stepParts(at));
    else hideTip();
  };
  $("chart").addEventListener("pointermove", hover);
  $("chart").addEventListener("pointerleave", hideTip);
  $("steps").onclick = (e) => {
    const row = run.rows[e.target.dataset.row || -1];
    if (row && shown.includes(row)) openDetails(row, timeAt(barX(e)));
  };
  $("rows").addEventListener("focusin", (e) => { const row = rowAt(e); if (row && row !== selected.row) choose(row); });
}
