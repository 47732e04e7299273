// Package watch follows files and carries out what their changes call for. A
// Policy decides, a Loop carries out, and a Watcher sees the changes.
package watch

import "time"

// Times of the usual policy.
const (
	// quiet is how long no file may change before the work begins: an editor writes,
	// renames and syncs a file within a few milliseconds.
	quiet = 25 * time.Millisecond
	// longest is how long a burst may delay the work.
	longest = time.Second
	// calm is how long after its work a unit must see no change before it is
	// certain that the work does not change the files itself.
	calm = 100 * time.Millisecond
	// rounds is how often in a row the same file may interrupt the work, or change
	// just after it. After that, the work is believed to change it.
	rounds = 10
)

// Policy decides when the work of a unit begins, and when it is interrupted. It is a
// value; time is an argument.
//
//	idle ──change──▶ settling ──quiet──▶ working ──done──▶ idle
//	                    ▲                   │ change: cancel
//	                    └───────done────────┘
type Policy struct {
	working bool
	pending bool
	first   time.Time // change of the burst that is pending
	last    time.Time
	path    string // of the last change

	began string    // path of the change that the last work followed
	ended time.Time // when the last work ended
	again int       // how often in a row the work followed its own path
	told  bool      // the verdict was Endless since then
}

// Verdict is the decision about a change.
type Verdict int

// The verdicts.
const (
	Wait    Verdict = iota // until Due
	Cancel                 // interrupt the work; a later Tick begins it again
	Endless                // the work seems to change the file itself: its changes do not count for now
)

// Changed handles that a file has changed.
func (p *Policy) Changed(path string, now time.Time) Verdict {
	own := p.working || !p.ended.IsZero() && now.Sub(p.ended) < calm
	switch {
	case !own:
		p.again, p.told = 0, false
	case path == p.began && p.again >= rounds:
		if p.told {
			return Wait
		}
		p.told = true
		return Endless
	}
	if !p.pending {
		p.first = now
	}
	interrupts := p.working && !p.pending
	p.pending, p.last, p.path = true, now, path
	if interrupts {
		return Cancel
	}
	return Wait
}

// Due returns when the work should begin if no other file changes before.
func (p *Policy) Due() (at time.Time, ok bool) {
	if !p.pending || p.working {
		return time.Time{}, false
	}
	at = p.last.Add(quiet)
	if latest := p.first.Add(longest); latest.Before(at) {
		at = latest
	}
	return at, true
}

// Tick handles that time has passed, and reports whether the work begins now, with
// the path of the latest change.
func (p *Policy) Tick(now time.Time) (path string, begin bool) {
	at, ok := p.Due()
	if !ok || now.Before(at) {
		return "", false
	}
	if p.path == p.began && !p.ended.IsZero() && p.first.Sub(p.ended) < calm {
		p.again++
	} else {
		p.again = 0
	}
	p.working, p.pending, p.began = true, false, p.path
	return p.path, true
}

// Done handles that the work has ended, or was interrupted.
func (p *Policy) Done(now time.Time) { p.working, p.ended = false, now }
