package artifact

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A download that takes longer than firstWord is spoken of, then again and
// again after twice the time, but not more rarely than every lastWord.
const (
	firstWord = 5 * time.Second
	lastWord  = time.Minute
)

// meter is how far a download has come.
type meter struct {
	shown string // its source
	since time.Time
	read  atomic.Int64
	total atomic.Int64 // 0 or less when it is not known
}

// begin starts to count anew, as after a redirect.
func (m *meter) begin(total int64) {
	m.read.Store(0)
	m.total.Store(total)
}

func (m *meter) add(n int) (all int64) { return m.read.Add(int64(n)) }

// Write counts.
func (m *meter) Write(p []byte) (int, error) {
	m.add(len(p))
	return len(p), nil
}

func (m *meter) String() string {
	read, total := m.read.Load(), m.total.Load()
	switch {
	case read == 0:
		return fmt.Sprintf("downloading %q, for %v now", m.shown, time.Since(m.since).Round(time.Second))
	case total <= 0:
		return fmt.Sprintf("downloading %q: %s so far", m.shown, size(read))
	case read >= total:
		return fmt.Sprintf("downloaded %q: unpacking %s", m.shown, size(total))
	}
	return fmt.Sprintf("downloading %q: %s of %s, %d %%", m.shown, size(read), size(total), read*100/total)
}

// size writes a number of bytes for people.
func size(n int64) string {
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

// progress is the downloads that are under way.
type progress struct {
	mu      sync.Mutex
	running []*meter
}

func (p *progress) add(shown string) *meter {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := &meter{shown: shown, since: time.Now()}
	p.running = append(p.running, m)
	return m
}

func (p *progress) remove(m *meter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.running {
		if other == m {
			p.running = append(p.running[:i], p.running[i+1:]...)
			return
		}
	}
}

// report tells of the downloads that take their time, until done is closed.
func (p *progress) report(done <-chan struct{}, say func(string)) {
	wait := firstWord
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		p.mu.Lock()
		var lines []string
		for _, m := range p.running {
			lines = append(lines, m.String())
		}
		p.mu.Unlock()
		for _, line := range lines {
			say(line)
		}
		wait = min(2*wait, lastWord)
		timer.Reset(wait)
	}
}
