package watch

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Unit is work that follows changes of files.
type Unit struct {
	Key   string   // equal for units that are the same
	Files []string // paths, absolute; they and the entries of directories among them are watched
	Trees []Tree
	// Do does the work. A further change ends ctx.
	Do func(ctx context.Context, changed string)
}

// Source sees changes.
type Source interface {
	// Watch replaces what is watched. Files that changed after a time count as
	// changed now, if they were not watched before.
	Watch(units []Unit, since time.Time)
	// Changes returns the channel of changes.
	Changes() <-chan Change
}

// Change is a change of a file of a unit.
type Change struct{ Key, Path string }

// Loop has the work of units done when their files change.
type Loop struct {
	source Source
	say    func(text string)
	wanted wanted
}

// NewLoop returns a loop without units.
func NewLoop(source Source, say func(string)) *Loop {
	return &Loop{source: source, say: say, wanted: newWanted()}
}

// wanted are the units that one goroutine wants, until another one takes them.
type wanted struct {
	mu    sync.Mutex
	units []Unit
	since time.Time
	fresh chan struct{} // capacity 1: they are new
}

func newWanted() wanted { return wanted{fresh: make(chan struct{}, 1)} }

func (w *wanted) set(units []Unit, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.units, w.since = units, since
	select {
	case w.fresh <- struct{}{}:
	default:
	}
}

func (w *wanted) get() (units []Unit, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.units, w.since
}

// Set replaces the units. Those with a known key keep their state, and their work
// continues. Files that changed after since count as changed. Set may be called
// during Run, also from a unit's Do.
func (l *Loop) Set(units []Unit, since time.Time) { l.wanted.set(units, since) }

// running is a unit in the loop.
type running struct {
	Unit
	Policy
	cancel context.CancelFunc // of its work; nil: it has not begun
}

// Run follows changes until ctx has ended. It returns once no work is being done.
func (l *Loop) Run(ctx context.Context) {
	units := map[string]*running{}
	done := make(chan *running)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	working := 0
	for ctx.Err() == nil || working > 0 {
		timer.Stop()
		if at, ok := due(units); ok && ctx.Err() == nil {
			timer.Reset(time.Until(at))
		}
		stopped := ctx.Done()
		if ctx.Err() != nil {
			stopped = nil // its work ends with it
		}
		select {
		case <-stopped:
		case <-l.wanted.fresh:
			l.renew(units)
		case c := <-l.source.Changes():
			if u := units[c.Key]; u != nil {
				l.changed(u, c.Path)
			}
		case <-timer.C:
			for _, u := range units {
				path, begin := u.Tick(time.Now())
				if !begin {
					continue
				}
				working++
				do := u.Do
				var work context.Context
				work, u.cancel = context.WithCancel(ctx)
				go func() {
					do(work, path)
					done <- u
				}()
			}
		case u := <-done:
			working--
			u.cancel()
			u.Done(time.Now())
		}
	}
}

func due(units map[string]*running) (first time.Time, ok bool) {
	for _, u := range units {
		if at, isDue := u.Due(); isDue && (!ok || at.Before(first)) {
			first, ok = at, true
		}
	}
	return first, ok
}

// renew takes over the units of Set.
func (l *Loop) renew(units map[string]*running) {
	next, since := l.wanted.get()
	known := map[string]bool{}
	for _, u := range next {
		known[u.Key] = true
		if units[u.Key] == nil {
			units[u.Key] = &running{}
		}
		units[u.Key].Unit = u
	}
	for key, u := range units {
		if !known[key] {
			delete(units, key)
			if u.cancel != nil {
				u.cancel()
			}
		}
	}
	l.source.Watch(next, since)
}

func (l *Loop) changed(u *running, path string) {
	switch u.Changed(path, time.Now()) {
	case Wait:
	case Cancel:
		u.cancel()
	case Endless:
		l.say(fmt.Sprintf("%q changes whenever its watch block acts: this change does not count; add the file to ignore", path))
	}
}
