// Times are numbers of microseconds since the run began.
const ms = 1e3, second = 1e6, minute = 60 * second, hour = 60 * minute, day = 24 * hour;

// trim formats a number with at most some digits behind the point.
const trim = (number, digits) => String(Math.round(number * 10 ** digits) / 10 ** digits);

// duration formats a length of time for people, with at most two units.
function duration(us) {
  if (us < ms) return us > 0 ? "<1ms" : "0ms";
  if (us < second) return trim(us / ms, us < 10 * ms ? 1 : 0) + "ms";
  if (us < minute) return trim(us / second, us < 10 * second ? 2 : 1) + "s";
  for (const [large, l, small, s] of [[day, "d", hour, "h"], [hour, "h", minute, "m"], [minute, "m", second, "s"]]) {
    const units = Math.round(us / small);
    if (units * small >= large) return Math.floor(units * small / large) + l + (units % (large / small)) + s;
  }
}

// offset formats a time with all the units that it needs at a precision.
function offset(us, precision) {
  us = Math.round(us / precision) * precision;
  if (us < 0) return "−" + offset(-us, precision);
  if (us < second && precision < second) return trim(us / ms, 3) + "ms";
  let text = "";
  for (const [unit, name] of [[day, "d"], [hour, "h"], [minute, "m"]]) {
    if (us >= unit) text += Math.floor(us / unit) + name;
    us %= unit;
  }
  return us > 0 || text === "" ? text + trim(us / second, 6) + "s" : text;
}

// clock formats the time of day, in the time zone of the reader.
function clock(us) {
  const t = new Date((run.begin + us) / ms);
  const two = (n) => String(n).padStart(2, "0");
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}.${String(t.getMilliseconds()).padStart(3, "0")}`;
}

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap((n) => [n, n * ms]).sort((a, b) => a - b).concat(
  [1, 2, 5, 10, 15, 30].map((n) => n * second),
  [1, 2, 5, 10, 15, 30].map((n) => n * minute),
  [1, 2, 3, 6, 12].map((n) => n * hour),
  [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((n) => n * day));

// ticks returns the step between the ticks of an axis, and the ticks.
function ticks(from, to, most) {
  const step = steps.find((s) => (to - from) / s <= most) ?? steps.at(-1);
  const at = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) at.push(t);
  return [step, at];
}
