package bubble

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	looks = 5          // looks at a clock that stands still, until it is taken for blocked
	busy  = 12 * looks // and as long as goroutines compute
)

// StalledError says that virtual time stands still: a goroutine of the bubble waits
// for something outside of it, or computes without end.
type StalledError struct {
	After      time.Duration // virtual time that has passed, to the minute
	Goroutines []Goroutine   // those that do not wait for the bubble
}

func (e *StalledError) Error() string {
	return fmt.Sprintf("virtual time has stood still since %v: %s", e.After, names(e.Goroutines))
}

// LeftoverError says that goroutines are left of a function that has returned.
type LeftoverError struct {
	Goroutines []Goroutine
	Err        error // of the function
}

func (e *LeftoverError) Error() string {
	text := "goroutines are left behind: " + names(e.Goroutines)
	if e.Err != nil {
		text = e.Err.Error() + "; " + text
	}
	return text
}

func (e *LeftoverError) Unwrap() error { return e.Err }

func names(list []Goroutine) string {
	text := make([]string, len(list))
	for i, g := range list {
		text[i] = g.String()
	}
	return strings.Join(text, ", ")
}

// Stacks returns the stacks of the goroutines that an error of Run blames, or "" if
// it blames none.
func Stacks(err error) (stacks string) {
	var crash *PanicError
	var left *LeftoverError
	var stalled *StalledError
	if errors.As(err, &crash) {
		stacks = string(crash.Stack)
	}
	if errors.As(err, &left) {
		stacks += stacksOf(left.Goroutines)
	}
	if errors.As(err, &stalled) {
		stacks += stacksOf(stalled.Goroutines)
	}
	return stacks
}

func stacksOf(list []Goroutine) string {
	text := make([]string, len(list))
	for i, g := range list {
		text[i] = strings.TrimSpace(g.Stack) + "\n"
	}
	return strings.Join(text, "\n")
}

// watchdog finds out that a clock stands still. It counts looks instead of reading a
// clock itself, because this process may be suspended.
type watchdog struct {
	clock   time.Time
	blocked string // goroutines that waited for something outside at the last look
	waiting int    // looks at which just these did
	still   int    // looks at which the clock stood still
}

// look compares the clock with that of the last look, and returns an error if it is
// not worth waiting any longer.
func (w *watchdog) look(clock time.Time, goroutines func() []Goroutine) *StalledError {
	if !clock.Equal(w.clock) {
		*w = watchdog{clock: clock}
		return nil
	}
	var awake []Goroutine
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
	return &StalledError{After: clock.Sub(Begin), Goroutines: awake}
}
