package event

import (
	"fmt"
	"time"
)

// Progress is the progress of a download for a task. It is published several
// times per second, to subscribers with output, and is not stored.
type Progress struct {
	What        string // name of the download; a later Progress with the same name replaces this one
	Done, Total int64  // bytes; Total is 0 or less while unknown
	Detail      string // such as "2 of 5 layers"; may be empty
	Over        bool   // it has succeeded or failed
}

func (Progress) kind() string { return "" }

// Amount describes the amount, or returns "" before any data has arrived.
func (p Progress) Amount() string {
	switch {
	case p.Done == 0:
		return ""
	case p.Total <= 0:
		return Size(p.Done) + " so far"
	case p.Done >= p.Total:
		return "unpacking " + Size(p.Total)
	}
	return fmt.Sprintf("%s of %s, %d %%", Size(p.Done), Size(p.Total), p.Done*100/p.Total)
}

// Size formats a number of bytes for people.
func Size(n int64) string {
	value, unit := float64(n), 0
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for value >= 1024 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	if unit == 0 || value >= 100 {
		return fmt.Sprintf("%.0f %s", value, units[unit])
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// liveEvery is the interval between the Progress events of a download.
const liveEvery = 250 * time.Millisecond

// A download that takes longer than firstWord is reported as a task event, and
// again after intervals that double up to lastWord.
const (
	firstWord = 5 * time.Second
	lastWord  = time.Minute
)

// TellProgress returns when done is closed. Until then it calls live, to
// publish a Progress, at short intervals, and word, to report a task event, at
// growing ones.
func TellProgress(done <-chan struct{}, live, word func()) {
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	wait := firstWord
	speak := time.NewTimer(wait)
	defer speak.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			live()
		case <-speak.C:
			word()
			wait = min(2*wait, lastWord)
			speak.Reset(wait)
		}
	}
}
