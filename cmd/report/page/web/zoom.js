// wholeRun returns the time that the chart shows when it is not zoomed: a little
// more than the run, so that its ends can be seen.
function wholeRun() {
  const length = Math.max(run.length, ms);
  return { from: -length * .005, to: length * 1.025 };
}

const isWhole = () => view.from <= wholeRun().from && view.to >= wholeRun().to;

// show shows a part of the time, as far as the run goes.
function show(from, to) {
  const whole = wholeRun(), least = Math.min(20, whole.to - whole.from);
  const length = Math.min(Math.max(to - from, least), whole.to - whole.from);
  from = Math.min(Math.max((from + to - length) / 2, whole.from), whole.to - length);
  view.from = from, view.to = from + length;
  $("zoom-all").disabled = isWhole();
  redraw();
}

const showAll = () => show(wholeRun().from, wholeRun().to);

// zoom changes how much time is shown, and keeps one moment in its place.
function zoom(factor, at = (view.from + view.to) / 2) {
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

// pan moves by a part of what is shown.
function pan(part) {
  const by = (view.to - view.from) * part;
  show(view.from + by, view.to + by);
}

// reveal moves so that a moment is shown.
function reveal(at) {
  if (at >= view.from && at <= view.to) return;
  const half = (view.to - view.from) / 2;
  show(at - half, at + half);
}

const barX = (event) => event.clientX - $("axis").getBoundingClientRect().left;

// drag follows the pointer from where a button was pressed until it is let go.
function drag(down, move, up) {
  const start = barX(down);
  let moved = false;
  const onMove = (e) => {
    moved ||= Math.abs(barX(e) - start) > 3;
    if (moved) move(start, barX(e));
  };
  const stop = (e) => {
    removeEventListener("pointermove", onMove);
    removeEventListener("pointerup", stop);
    removeEventListener("pointercancel", stop);
    if (e.type === "pointerup") up(start, barX(e), moved); else $("selection").style.visibility = "hidden";
  };
  addEventListener("pointermove", onMove);
  addEventListener("pointerup", stop);
  addEventListener("pointercancel", stop);
}

// select lets the pointer choose the time that is shown next.
function select(down) {
  const selection = $("selection");
  const limit = (x) => Math.min(Math.max(x, 0), width);
  drag(down, (a, b) => {
    hideTip();
    const from = limit(Math.min(a, b)), to = limit(Math.max(a, b));
    selection.style.visibility = "visible";
    selection.style.left = left + from + "px";
    selection.style.width = to - from + "px";
    selection.style.height = $("chart").scrollHeight + "px";
  }, (a, b, moved) => {
    selection.style.visibility = "hidden";
    const from = limit(Math.min(a, b)), to = limit(Math.max(a, b));
    if (moved && to - from > 3) return show(timeAt(from), timeAt(to));
    const row = rowAt(down);
    if (row) openDetails(row, timeAt(a));
  });
}

// grab lets the pointer move what is shown.
function grab(down) {
  const { from, to } = view, per = (to - from) / width;
  drag(down, (a, b) => show(from - (b - a) * per, to - (b - a) * per), () => {});
}

// brush lets the pointer choose what is shown of the overview, or move it there.
function brush(down) {
  const whole = wholeRun(), at = (x) => whole.from + x / width * (whole.to - whole.from);
  drag(down, (a, b) => show(at(Math.min(a, b)), at(Math.max(a, b))), (a, b, moved) => {
    const half = (view.to - view.from) / 2;
    if (!moved) show(at(a) - half, at(a) + half);
  });
}

// turn zooms with Ctrl or where nothing else could scroll, and moves in time
// with Shift or sideways.
function turn(wheel) {
  const chart = $("chart"), overTop = wheel.target.closest("#top");
  const sideways = wheel.shiftKey || Math.abs(wheel.deltaX) > Math.abs(wheel.deltaY);
  if (sideways) {
    wheel.preventDefault();
    pan((wheel.deltaX || wheel.deltaY) / width);
  } else if (wheel.ctrlKey || wheel.metaKey || overTop || chart.scrollHeight <= chart.clientHeight) {
    wheel.preventDefault();
    zoom(Math.exp(Math.max(-60, Math.min(wheel.deltaY, 60)) / 200), timeAt(Math.min(Math.max(barX(wheel), 0), width)));
  }
}

function startZoom() {
  $("zoom-in").onclick = () => zoom(.5);
  $("zoom-out").onclick = () => zoom(2);
  $("zoom-all").onclick = showAll;
  $("overview").onpointerdown = (e) => { if (e.button === 0) brush(e); };
  $("axis").onpointerdown = (e) => { if (e.button === 0) grab(e); };
  $("body").onpointerdown = (e) => {
    if (e.button !== 0 || e.pointerType === "touch") return;
    if (barX(e) < 0) return rowAt(e) && openDetails(rowAt(e), selected.at);
    e.preventDefault(); // no text is selected
    rowAt(e)?.line.focus({ preventScroll: true });
    if (e.shiftKey) grab(e); else select(e);
  };
  $("body").onclick = (e) => { if (e.pointerType === "touch" && rowAt(e)) openDetails(rowAt(e), timeAt(Math.max(barX(e), 0))); };
  $("chart").ondblclick = (e) => { if (barX(e) > 0) showAll(); };
  $("chart").addEventListener("wheel", turn, { passive: false });
}
