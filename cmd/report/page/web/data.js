// The weights of marks, as numbers in the data.
const weights = ["ordinary", "setback", "trouble"];

// decode turns the compact data of the page into objects. Lists are flat, with a
// fixed number of values for each entry; texts are numbers that index data.texts.
function decode(data) {
  const texts = data.texts;
  const entries = (flat = [], size, make) => {
    const list = [];
    for (let i = 0; i < flat.length; i += size) list.push(make(flat, i));
    return list;
  };
  const span = (f, i) => ({ kind: data.kinds[f[i]], from: f[i + 1], to: f[i + 2], open: f[i + 3] === 1, why: texts[f[i + 4]], count: f[i + 5] });
  const mark = (f, i) => ({ at: f[i], kind: texts[f[i + 1]], title: texts[f[i + 2]], detail: texts[f[i + 3]], weight: f[i + 4], words: [f[i + 2], f[i + 3]] });
  const line = (f, i) => ({ at: f[i], stream: f[i + 1] === 1 ? "stderr" : "stdout", text: texts[f[i + 2]], words: [f[i + 2]] });
  const rows = data.rows.map((row, index) => ({
    index, name: row.name, state: row.state, stage: row.stage ?? "", attempt: row.attempt ?? 0, merged: row.merged ?? 0,
    restarts: row.restarts ?? 0, exit: row.exit ?? null,
    spans: entries(row.spans, 6, span), marks: entries(row.marks, 5, mark), lines: entries(row.lines, 3, line),
    leftOut: row.left_out ?? "",
    critical: [],
  }));
  const critical = entries(data.critical, 5, (f, i) => ({ row: rows[f[i]] ?? null, kind: data.kinds[f[i + 1]], from: f[i + 2], to: f[i + 3], count: f[i + 4] }));
  for (const part of critical) part.row?.critical.push(part);
  for (const row of rows) {
    row.from = row.spans[0]?.from ?? 0;
    row.to = row.spans.at(-1)?.to ?? row.from;
    const first = row.spans.find((s) => s.kind === "running");
    row.took = first ? duration(row.to - first.from) : "–"; // with restarts
  }
  return { ...data, rows, critical, marks: entries(data.marks, 5, mark) };
}

// before returns how many entries of a list, which is in the order of time, are
// not later than a time.
function before(list, at) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].at <= at) low = middle + 1; else high = middle;
  }
  return low;
}
