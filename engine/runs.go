package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"taskrun/engine/leaf/event"
)

// add adds runs of jobs that have no run yet.
func (l *jobRuns) add(runs ...*jobRun) {
	l.finding.Add(len(runs))
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range runs {
		if r.purged.Load() {
			l.purged = append(l.purged, r)
			continue
		}
		l.list = append(l.list, r)
		l.byKey[r.key] = r
	}
}

// addChild adds a child of a job that has a run.
func (l *jobRuns) addChild(r *jobRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byKey[r.key] = r
}

// all returns the runs of all jobs except children.
func (l *jobRuns) all() []*jobRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

// find returns a job by its key: a submitted one or a child.
func (l *jobRuns) find(key string) (*jobRun, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.byKey[key]; ok {
		return r, nil
	}
	return nil, fmt.Errorf("job not found: %q", key)
}

// claim returns the run of a job. If the result is nil, the caller may add a run,
// and must call unclaim afterwards. Others wait until then.
func (l *jobRuns) claim(key string) *jobRun {
	for {
		l.mu.Lock()
		r, busy := l.byKey[key], l.opening[key]
		if r == nil && busy == nil {
			l.opening[key] = make(chan struct{})
		}
		l.mu.Unlock()
		if r != nil || busy == nil {
			return r
		}
		<-busy
	}
}

func (l *jobRuns) unclaim(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.opening[key])
	delete(l.opening, key)
}

// hide makes find return a job no more. The caller must hold the job's lock.
func (l *jobRuns) hide(r *jobRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(r)
}

// drop removes a job from those that have a key, and publishes that before anyone
// can see it. It does nothing if the job is not among them. The caller must hold
// both locks.
func (l *jobRuns) drop(r *jobRun) {
	if l.byKey[r.key] != r {
		return
	}
	delete(l.byKey, r.key)
	var gone []uint64
	for _, job := range r.versions {
		gone = append(gone, *job.Version)
	}
	r.host.bus.Publish(nil, "", event.Forgotten{Job: r.key, Versions: gone, Gone: true})
}

// purge removes a job, which is not a child, from the list of jobs, although it
// may still be ending. The caller must hold the job's lock.
func (l *jobRuns) purge(r *jobRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(other *jobRun) bool { return other == r })
	l.purged = append(l.purged, r)
	l.drop(r)
}

// erase forgets a purged job that has ended.
func (l *jobRuns) erase(r *jobRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.purged = slices.DeleteFunc(l.purged, func(other *jobRun) bool { return other == r })
}

// enter calls f in a goroutine for which Done waits. It reports whether it could:
// nothing new starts once the engine stops or leaves.
func (l *jobRuns) enter(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.going.Go(f)
	}
	return !l.over
}

// end ends a resident engine once the goroutines of enter have ended.
func (l *jobRuns) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.going.Done()
}

func (c *children) all() []*jobRun {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.known), func(a, b *jobRun) int { return strings.Compare(a.key, b.key) })
}

// running reports whether any child is running.
func (c *children) running() bool {
	return c.live.Load() > 0
}

// keptChildren is how many dead jobs are kept that the same job has launched,
// regardless of their age.
const keptChildren = 1000

// died notes the death of a child, and returns another dead one if there are too
// many of them.
func (c *children) died(r *jobRun) (surplus *jobRun) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r == c.parent {
		return nil
	}
	if c.dead = append(c.dead, r); len(c.dead) > keptChildren {
		surplus, c.dead = c.dead[0], c.dead[1:]
	}
	return surplus
}

func (c *children) forget(r *jobRun) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[r.key] == r {
		delete(c.known, r.key)
	}
	c.dead = slices.DeleteFunc(c.dead, func(other *jobRun) bool { return other == r })
}
