package onscreen

import (
	"testing"
	"testing/synctest"
	"time"
)

// Tasks that sleep are measured ever more rarely, until one of them does something.
func TestMeasuringRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := measuring{due: time.NewTimer(0)}
		defer m.due.Stop()
		measured := func(d time.Duration, changed bool) (n int) {
			for end := time.After(d + time.Millisecond); ; { // after what is due at the same time
				select {
				case <-m.due.C:
					n++
					m.wait(changed)
				case <-end:
					return n
				}
			}
		}
		if n := measured(time.Minute, true); n != 31 {
			t.Errorf("%d times in a minute of tasks that are busy", n)
		}
		measured(10*time.Minute, false)
		if n := measured(time.Hour, false); n != 12 {
			t.Errorf("%d times in an hour in which nothing happens", n)
		}
		m.rouse()
		m.rouse() // must not put it off
		if n := measured(3*time.Second, false); n != 1 {
			t.Errorf("%d times after an event", n)
		}
		m.polls = true
		measured(10*time.Minute, false)
		if n := measured(time.Hour, false); n != 240 {
			t.Errorf("%d times in an hour in which checks may fail", n)
		}
	})
}

// Tasks that become visible during a measurement are measured right after it,
// others soon.
func TestMeasuringOfOtherTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := measuring{due: time.NewTimer(time.Hour)}
		defer m.due.Stop()
		takes := func() time.Duration {
			began := time.Now()
			<-m.due.C
			return time.Since(began)
		}
		m.soon()
		if got := takes(); got != settleTime {
			t.Errorf("the first measurement begins after %v", got)
		}
		m.busy = true
		m.soon()
		m.rouse() // it does not put it off
		m.busy = false
		m.wait(false)
		if got := takes(); got != 0 {
			t.Errorf("the next measurement begins after %v", got)
		}
		m.wait(false)
		if got := takes(); got != measureSlower*measureOften {
			t.Errorf("the one after it begins after %v", got)
		}
		m.busy = true
		m.rouse()
		m.busy = false
		if m.pause != measureOften || m.due.Reset(0) {
			t.Errorf("an event during a measurement: the pause is %v, and the timer was set", m.pause)
		}
	})
}
