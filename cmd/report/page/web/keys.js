// moveTo chooses another of the rows that are shown.
function moveTo(i) {
  const row = shown[Math.min(Math.max(i, 0), shown.length - 1)];
  if (!row) return;
  hideTip();
  row.line.focus();
}

const moveBy = (n) => moveTo(shown.indexOf(selected.row) + n);

function nextFailed() {
  const here = shown.indexOf(selected.row);
  const failed = [...shown.slice(here + 1), ...shown.slice(0, here + 1)].find((row) => row.state === "failed");
  if (!failed) return say("No task has failed.");
  moveTo(shown.indexOf(failed));
  goTo(failed, failed.to);
}

const keys = {
  "/": () => { $("filter").focus(); $("filter").select(); },
  "?": () => $("help").showModal(),
  "+": () => zoom(.5, selected.at ?? undefined),
  "=": () => zoom(.5, selected.at ?? undefined),
  "-": () => zoom(2),
  "0": showAll,
  "ArrowLeft": () => pan(-.2),
  "ArrowRight": () => pan(.2),
  "ArrowUp": () => moveBy(-1),
  "ArrowDown": () => moveBy(1),
  "k": () => moveBy(-1),
  "j": () => moveBy(1),
  "PageUp": () => moveBy(-10),
  "PageDown": () => moveBy(10),
  "Home": () => moveTo(0),
  "End": () => moveTo(shown.length - 1),
  "Enter": () => selected.row && openDetails(selected.row, selected.at),
  "n": () => step(true),
  "p": () => step(false),
  "f": nextFailed,
  "c": toggleCritical,
};

// escape closes what was opened last.
function escape() {
  if (!$("tip").hidden) return hideTip();
  if (opened) return closeDetails();
  if (filter.text || filter.state || filter.critical) clearFilter();
}

// inFilter acts on keys in the field of the filter.
function inFilter(e) {
  if (e.key === "Escape" && e.target.value) return clearFilter(), e.preventDefault();
  if (e.key === "Escape" || e.key === "Enter" || e.key === "ArrowDown") {
    e.preventDefault();
    moveTo(shown.includes(selected.row) ? shown.indexOf(selected.row) : 0);
  }
}

function startKeys() {
  $("keys").onclick = keys["?"];
  addEventListener("keydown", (e) => {
    if ($("help").open || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target === $("filter")) return inFilter(e);
    if (e.key === "Escape") return escape();
    // Buttons and lists keep the keys that they act on themselves.
    if (e.target.closest("button") && (e.key === "Enter" || e.key === " ")) return;
    if (e.target.closest(".list") && /^(Arrow|Page|Home|End)/.test(e.key)) return;
    const act = keys[e.key];
    if (!act) return;
    e.preventDefault();
    act();
  });
}
