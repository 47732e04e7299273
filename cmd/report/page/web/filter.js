const filter = { text: "", state: "", critical: false };
let matching = new Set(); // numbers of the texts that have the text of the filter

const matches = (m) => filter.text !== "" && m.words.some((w) => matching.has(w));

// apply shows the rows that match the filter.
function apply() {
  const text = filter.text;
  matching = new Set();
  if (text !== "") run.texts.forEach((t, i) => { if (t.toLowerCase().includes(text)) matching.add(i); });
  shown = run.rows.filter((row) =>
    (filter.state === "" || row.state === filter.state) &&
    (!filter.critical || row.critical.length > 0) &&
    (text === "" || row.name.toLowerCase().includes(text) || row.marks.some(matches) || row.lines.some(matches)));
  const visible = new Set(shown);
  for (const row of run.rows) row.line.hidden = !visible.has(row);
  shown.forEach((row, i) => {
    row.line.setAttribute("aria-posinset", i + 1);
    row.line.setAttribute("aria-setsize", shown.length);
  });
  $("nothing").hidden = shown.length > 0;
  $("count").textContent = shown.length === run.rows.length ? "" : `${shown.length} of ${count(run.rows.length, "task")}`;
  if (shown.length > 0 && !visible.has(selected.row)) choose(shown[0]);
  for (const button of document.querySelectorAll("#states button")) {
    button.setAttribute("aria-pressed", String(button.dataset.state === "critical" ? filter.critical : button.dataset.state === filter.state));
  }
  redraw();
}

function clearFilter() {
  filter.text = $("filter").value = filter.state = "";
  filter.critical = false;
  apply();
}

// toggle makes a button that can be pressed and released.
function toggle(text, className, press) {
  const button = element("button", className);
  button.type = "button";
  if (text) button.append(text);
  button.onclick = () => press(button);
  return button;
}

function startFilter() {
  $("filter").oninput = () => {
    filter.text = $("filter").value.trim().toLowerCase();
    apply();
  };
  $("clear").onclick = () => { clearFilter(); $("filter").focus(); };
  for (const state of ["failed", "running", "pending", "complete"]) {
    const n = run.rows.filter((row) => row.state === state).length;
    if (n === 0) continue;
    const button = toggle(`${state} ${n}`, "", () => {
      filter.state = filter.state === state ? "" : state;
      apply();
    });
    button.dataset.state = state;
    $("states").append(button);
  }
  if (run.critical.length > 0) {
    const button = toggle("critical path", "", toggleCritical);
    button.dataset.state = "critical";
    $("states").append(button);
  }
  const used = new Set(), add = (entry) => used.add(entry.kind);
  for (const row of run.rows) row.spans.forEach(add);
  const spanKinds = run.kinds.filter((kind) => used.delete(kind));
  run.marks.forEach(add);
  for (const row of run.rows) row.marks.forEach(add);
  for (const kind of [...spanKinds, ...used]) {
    const button = toggle("", "", () => {
      if (!hidden.delete(kind)) hidden.add(kind);
      button.setAttribute("aria-pressed", String(!hidden.has(kind)));
      redraw();
    });
    if (spanKinds.includes(kind)) {
      const bar = shape("svg", "bar", { "aria-hidden": "true" });
      bar.append(shape("rect", kind, { y: 6.5 - heights[kind] / 2, width: 16, height: heights[kind] }));
      button.append(bar, kind);
    } else {
      button.append(icon(kind, 0, 10), kind);
    }
    button.title = `Show or hide: ${kind}`;
    button.setAttribute("aria-pressed", "true");
    $("kinds").append(button);
  }
}

function toggleCritical() {
  filter.critical = !filter.critical;
  apply();
}
