// addRow makes the line of a row.
function addRow(row) {
  const line = row.line = element("div", "line row " + (moods[row.state] ?? ""));
  line.dataset.index = row.index;
  line.setAttribute("role", "option");
  line.setAttribute("aria-selected", "false");
  line.setAttribute("aria-label", `${row.name}: ${stateText(row)}`);
  line.tabIndex = -1;
  const name = element("span", "name");
  name.append(element("span", "glyph", glyphs[row.state]), element("span", "text", row.name));
  name.title = row.name;
  if (row.attempt > 0) name.append(element("span", "badge", `attempt ${row.attempt + 1}`));
  if (row.restarts > 0) name.append(element("span", "badge", `↻ ${row.restarts}`));
  if (row.exit) name.append(element("span", row.state === "failed" ? "badge bad" : "badge", `exit ${row.exit}`));
  row.bars = shape("svg", "bars", { "aria-hidden": "true" });
  line.append(name, row.bars, element("span", "took", row.took));
  return line;
}

function startHead() {
  document.title = run.title;
  $("title").textContent = run.title;
  const status = $("status");
  status.textContent = run.status;
  status.className = moods[run.status] ?? "";
  const fact = (text, value) => {
    const li = element("li", "", text + " ");
    li.append(element("b", "", value));
    $("facts").append(li);
  };
  fact("began", clock(0).slice(0, 19));
  fact(run.live ? "has run for" : "took", duration(run.length));
  if (run.critical.length > 0) fact("critical path", duration(run.critical_length));
  fact("tasks", run.rows.length.toLocaleString("en"));
  const restarts = run.rows.reduce((sum, row) => sum + row.restarts, 0);
  if (restarts > 0) fact("restarts", restarts.toLocaleString("en"));
  $("left-out").textContent = run.left_out ?? "";
  $("critical").hidden = run.critical.length === 0;
  $("critical").setAttribute("aria-label", `Critical path, ${duration(run.critical_length ?? 0)}: ` +
    run.critical.slice(0, 50).map((s) => `${s.row ? s.row.name : "no task"} ${s.kind} ${duration(s.to - s.from)}`).join(", "));
  $("critical").querySelector(".took").textContent = duration(run.critical_length ?? 0);
  $("run").hidden = run.marks.length === 0;
  $("run").setAttribute("aria-label", `Events of the run: ${run.marks.map((m) => m.title).slice(0, 20).join(", ")}`);
}

function start() {
  startHead();
  const widths = run.rows.map((row) => row.name.length * 7.4 + (row.restarts ? 54 : 0) + (row.exit ? 64 : 0) + (row.attempt ? 76 : 0));
  $("chart").style.setProperty("--names", `min(${Math.round(widths.reduce((a, b) => Math.max(a, b), 90) + 55)}px, 34vw)`);
  $("rows").append(...run.rows.map(addRow));
  startFilter();
  startDetails();
  startZoom();
  startKeys();
  $("chart").addEventListener("scroll", () => requestDraw());
  $("page").hidden = false;
  Object.assign(view, wholeRun());
  $("zoom-all").disabled = true;
  apply();
  const failed = run.rows.find((row) => row.state === "failed");
  if (run.rows.length === 0) $("nothing").textContent = "There are no tasks.";
  else if (run.rows.length <= 8) openDetails(failed ?? run.rows[0]); // there is room
  else choose(run.rows[0]);
  new ResizeObserver(measure).observe($("chart"));
  measure();
}

// The picture without JavaScript is the fallback for a browser that is too old
// for this script, too.
let run;
document.documentElement.classList.add("live");
try {
  run = decode(JSON.parse($("data").textContent));
  start();
} catch (err) {
  document.documentElement.classList.remove("live");
  $("page").hidden = true;
  throw err;
}
