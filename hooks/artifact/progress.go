package artifact

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"taskrun/engine/leaf/event"
)

// meter measures the progress of a download.
type meter struct {
	shown string // its source
	since time.Time
	read  atomic.Int64
	total atomic.Int64 // 0 or less if unknown
	told  bool         // total was published; guarded by progress.mu
}

// begin restarts the count, for example after a redirect.
func (m *meter) begin(total int64) {
	m.read.Store(0)
	m.total.Store(total)
}

func (m *meter) add(n int) (all int64) { return m.read.Add(int64(n)) }

// Write counts bytes.
func (m *meter) Write(p []byte) (int, error) {
	m.add(len(p))
	return len(p), nil
}

func (m *meter) progress() event.Progress {
	return event.Progress{What: m.shown, Done: m.read.Load(), Total: m.total.Load()}
}

func (m *meter) String() string {
	p := m.progress()
	switch {
	case p.Done == 0:
		return fmt.Sprintf("downloading %q, for %v now", m.shown, time.Since(m.since).Round(time.Second))
	case p.Total > 0 && p.Done >= p.Total:
		return fmt.Sprintf("downloaded %q: %s", m.shown, p.Amount())
	}
	return fmt.Sprintf("downloading %q: %s", m.shown, p.Amount())
}

// progress tracks the downloads in progress.
type progress struct {
	publish func(event.Body) // does not block

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
	p.running = slices.DeleteFunc(p.running, func(other *meter) bool { return other == m })
	if m.told {
		p.publish(event.Progress{What: m.shown, Over: true})
	}
}

// report publishes the progress of the downloads until done is closed.
func (p *progress) report(done <-chan struct{}) {
	event.TellProgress(done,
		func() { p.each(func(m *meter) event.Body { return m.progress() }) },
		func() { p.each(func(m *meter) event.Body { return event.Notice{Text: m.String()} }) })
}

func (p *progress) each(tell func(*meter) event.Body) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.running {
		m.told = true
		p.publish(tell(m))
	}
}
