package bubble

import "time"

const (
	looks = 5          // looks at a clock that stands still, until it is taken for blocked
	busy  = 12 * looks // and as long as goroutines compute
)

// watchdog finds out that a clock stands still. It counts looks instead of reading a
// clock itself, because this process may be suspended.
type watchdog struct {
	clock   time.Time
	blocked string // goroutines that waited for something outside at the last look
	waiting int    // looks at which just these did
	still   int    // looks at which the clock stood still
}

// look compares the clock with that of the last look. If it is not worth waiting any
// longer, it returns the goroutines that do not wait for the bubble.
func (w *watchdog) look(clock time.Time, goroutines func() []Goroutine) (awake []Goroutine) {
	if !clock.Equal(w.clock) {
		*w = watchdog{clock: clock}
		return nil
	}
	ids, computes := "", false
	for _, g := range goroutines() {
		if !g.Durable() {
			awake = append(awake, g)
			ids += g.ID + " "
			computes = computes || g.Busy()
		}
	}
	w.still++
	switch {
	case len(awake) == 0: // it was about to move
		w.still, w.waiting = 0, 0
	case computes:
		w.waiting = 0
	case ids != w.blocked:
		w.waiting = 1
	default:
		w.waiting++
	}
	w.blocked = ids
	if w.waiting < looks && w.still < busy {
		return nil
	}
	return awake
}
