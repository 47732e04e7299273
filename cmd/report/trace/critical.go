package trace

import (
	"slices"
	"time"
)

// maxSteps limits the steps of a row in a row; more are merged into one.
const maxSteps = 6

// critical sets the critical path of a trace, which has copies of the rows.
func critical(t *Trace, healthy *verdict, rows []*row, copies map[*row]*Row) {
	last, end := lastOf(t, healthy, rows)
	if last == nil || !end.After(t.Begin) {
		return
	}
	p := path{begin: t.Begin, at: end, rows: copies}
	p.from(last)
	p.step(nil, Waiting, 1, t.Begin)
	slices.Reverse(p.steps)
	t.Critical = p.merged()
	t.Length = end.Sub(t.Begin)
	for i, s := range t.Critical {
		t.Critical[i].Share = float64(s.Took()) / float64(t.Length)
	}
}

// lastOf returns the row and the moment with which the critical path ends.
func lastOf(t *Trace, healthy *verdict, rows []*row) (last *row, end time.Time) {
	if h := healthy; h != nil && h.main() != nil && (t.Live || t.Status == stopped) {
		return h.main(), h.at
	}
	for _, r := range rows {
		n := len(r.spans)
		if n == 0 {
			continue
		}
		at := r.spans[n-1].To
		if t.Live && r.spans[n-1].Open {
			if r.spans[n-1].Kind == Waiting {
				continue // for one of the others
			}
			at = r.spans[n-1].From
		}
		open := t.Live && r.spans[n-1].Open
		was := t.Live && last != nil && last.open() != nil
		if last == nil || open && !was || open == was && !at.Before(end) {
			last, end = r, at
		}
	}
	if last != nil && last.open() != nil {
		end = t.End
	}
	return last, end
}

// path is the critical path, from its end to its beginning.
type path struct {
	begin time.Time
	at    time.Time // where it has come to
	rows  map[*row]*Row
	steps []Step
}

// step adds what was done from a moment until where the path has come to.
func (p *path) step(r *row, kind Kind, count int, from time.Time) {
	if from.Before(p.at) {
		p.steps = append(p.steps, Step{Row: p.rows[r], Kind: kind, From: from, To: p.at, Count: count})
		p.at = from
	}
}

// from follows the path from a row back to the beginning. Events may come from anyone,
// so the path ends when it has been at each row.
func (p *path) from(r *row) {
	for range 2 * len(p.rows) {
		if p.rows[r] == nil { // merged into another one
			return
		}
		next := p.along(r)
		if next == nil {
			next = p.before(r.alloc)
		}
		if next == nil {
			return
		}
		r = next
	}
}

// along follows a row back to a moment at which another one decided, which it
// returns, or to its beginning.
func (p *path) along(r *row) *row {
	for _, s := range slices.Backward(r.spans) {
		switch {
		case !s.From.Before(p.at):
		case s.after == nil || p.rows[s.after] == nil:
			p.step(r, s.Kind, s.Count, s.From)
		case s.Kind == Waiting:
			p.step(r, s.Kind, 1, later(s.From, s.when)) // the delay after the other one
			return s.after
		default:
			p.step(r, s.Kind, 1, s.From)
			return s.after
		}
	}
	return nil
}

// before returns the row whose health an allocation has waited for, or nil.
func (p *path) before(a *alloc) *row {
	if a.after == nil || !a.after.at.Before(p.at) {
		return nil
	}
	p.step(nil, Waiting, 1, a.after.at)
	return a.after.main()
}

// merged returns the steps, with many of one row in a row merged into one.
func (p *path) merged() (steps []Step) {
	for first := 0; first < len(p.steps); {
		next, count := first, 0
		for ; next < len(p.steps) && p.steps[next].Row == p.steps[first].Row; next++ {
			if p.steps[next].Kind == Running {
				count += p.steps[next].Count
			}
		}
		if of := p.steps[first:next]; len(of) <= maxSteps {
			steps = append(steps, of...)
		} else {
			steps = append(steps, Step{Row: of[0].Row, Kind: Running, From: of[0].From, To: of[len(of)-1].To, Count: max(1, count)})
		}
		first = next
	}
	return steps
}
