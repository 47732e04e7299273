package onscreen

import (
	"time"
)

// settleTime is how long the selection has to rest before the output of other tasks is
// read, and they are measured: the cursor passes many.
const settleTime = 60 * time.Millisecond

// The visible tasks are measured often while the user is active or something
// changes, and less and less often while nothing happens. Otherwise most of the
// cost of an idle screen would be to measure its 50 tasks.
const (
	measureOften  = 2 * time.Second
	measureRarely = 5 * time.Minute
	measureSlower = 4 // times the pause before

	// A cluster does not report failing checks.
	measureChecks = 15 * time.Second
)

// measuring says when to measure what the visible tasks use.
type measuring struct {
	due   *time.Timer
	pause time.Duration
	busy  bool
	again bool // as soon as it is no longer busy
	polls bool // for the results of checks, too
}

// soon measures soon, because other tasks may be visible.
func (m *measuring) soon() {
	if m.pause = measureOften; m.busy {
		m.again = true
		return
	}
	m.due.Reset(settleTime)
}

// rouse measures often again, because tasks have done something.
func (m *measuring) rouse() {
	if m.pause <= measureOften {
		return
	}
	if m.pause = measureOften; !m.busy {
		m.due.Reset(m.pause)
	}
}

// wait sets the time of the next measurement.
func (m *measuring) wait(changed bool) {
	switch {
	case m.again:
		m.again = false
		m.due.Reset(0)
		return
	case changed || m.pause == 0:
		m.pause = measureOften
	default:
		m.pause = min(measureSlower*m.pause, measureRarely)
		if m.polls {
			m.pause = min(m.pause, measureChecks)
		}
	}
	m.due.Reset(m.pause)
}
