package httpapi

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/leaf/event"
)

// topic names objects that have an index together.
type topic string

func static(string) topic                 { return "" } // what never changes
func jobsTopic(string) topic              { return "jobs" }
func jobTopic(id string) topic            { return topic("job/" + id) }
func jobAllocsTopic(id string) topic      { return topic("job-allocations/" + id) }
func deploymentTopic(id string) topic     { return topic("deployment/" + id) }
func deploymentsTopic(string) topic       { return "deployments" }
func allocsTopic(string) topic            { return "allocations" }
func servicesTopic(string) topic          { return "services" }
func serviceTopic(name string) topic      { return topic("service/" + name) }
func evaluationsTopic(string) topic       { return "evaluations" }
func evaluationTopic(id string) topic     { return topic("evaluation/" + id) }
func jobEvaluationsTopic(id string) topic { return topic("job-evaluations/" + id) }
func allocTopic(id string) topic          { return topic("allocation/" + id) }
func variablesTopic(string) topic         { return "variables" }
func variableTopic(path string) topic     { return topic("variable/" + path) }

// firstIndex is that of what has not changed since the server began. It is not
// 0: clients send it back, and 0 means not to wait.
const firstIndex = 1

// allocRecord is what events tell of an allocation and the engine does not.
type allocRecord struct {
	created  uint64 // index
	modified uint64 // index
	next     string // ID of the allocation that has taken its place
	awaited  bool   // another one will take its place
	ended    bool
	// evaluation is the ID of the one because of which it was placed.
	evaluation string
}

// waiters wait for the next change of a topic.
type waiters struct {
	changed chan struct{}
	n       int
}

// tracker follows the engine's events and gives each change an index. The
// state that an event tells of is there before the event.
type tracker struct {
	engine *engine.Engine
	sub    *event.Subscription
	cancel context.CancelFunc
	ended  chan struct{}

	mu          sync.Mutex
	now         uint64
	indexes     map[topic]uint64
	forgotten   uint64 // index at which something was forgotten last
	waiting     map[topic]*waiters
	allocs      map[string]*allocRecord
	pruneAt     int                          // how many allocs there are when those are dropped that the engine has forgotten
	deployments map[string]*deploymentRecord // by ID
	deployed    map[string]string            // IDs of the latest deployments of jobs
	evaluations []evaluationRecord           // by age
	versions    map[string]bool              // versions of jobs that were told of
	registered  map[string]uint64            // indexes of the newest versions of jobs
	adopted     map[string]uint64            // indexes of all versions of jobs, by their names
	seed        string                       // of the IDs of evaluations

	happened []occurrence // at the present index, and not in the feed yet
	feed     *feed
}

func newTracker(e *engine.Engine, node string) *tracker {
	ctx, cancel := context.WithCancel(context.Background())
	t := &tracker{
		engine: e, sub: e.Subscribe(false), cancel: cancel, ended: make(chan struct{}),
		now: firstIndex, forgotten: firstIndex, indexes: map[topic]uint64{}, waiting: map[topic]*waiters{},
		allocs: map[string]*allocRecord{}, pruneAt: 64, deployments: map[string]*deploymentRecord{}, deployed: map[string]string{},
		versions: map[string]bool{}, registered: map[string]uint64{}, adopted: map[string]uint64{}, feed: newFeed(),
	}
	t.feed.add(firstIndex, occurrence{topic: api.TopicNode, kind: "NodeRegistration", key: node})
	go func() {
		defer close(t.ended)
		defer t.feed.end()
		defer t.sub.Close()
		for ev, ok := t.sub.Next(ctx); ok; ev, ok = t.sub.Next(ctx) {
			t.observe(ev)
		}
	}()
	return t
}

func (t *tracker) close() {
	t.cancel()
	<-t.ended
}

func (t *tracker) observe(ev event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// What clients have changed counts as well, but is not told of again to an
	// engine that takes up the run.
	t.now = max(t.now+1, firstIndex+ev.Seq)
	t.take(ev)
	t.tell(ev)
	t.flush()
}

// flush hands what happened to those who read the event stream. The lock is
// held.
func (t *tracker) flush() {
	t.feed.add(t.now, t.happened...)
	t.happened = nil
}

// take takes in what an event changes.
func (t *tracker) take(ev event.Event) {
	if d, ok := ev.Body.(event.Deployment); ok {
		t.observeDeployment(d, ev.Time)
		t.change(deploymentTopic(d.Job), deploymentsTopic(""))
		return
	}
	if ev.Alloc == nil {
		return
	}
	t.observeAlloc(ev)
	t.change(allocsTopic(""), allocTopic(ev.Alloc.ID), jobAllocsTopic(ev.Alloc.Job))
	switch body := ev.Body.(type) {
	case event.Service:
		t.change(servicesTopic(""), serviceTopic(body.Name))
	case event.AllocStatus:
		t.change(jobsTopic(""), jobTopic(ev.Alloc.Job))
		if parent := ev.Alloc.Parent; parent != "" {
			t.change(jobTopic(parent))
		}
	case event.AllocHealth:
		t.change(deploymentTopic(ev.Alloc.Job), deploymentsTopic(""))
	}
}

func (t *tracker) observeAlloc(ev event.Event) {
	status, isStatus := ev.Body.(event.AllocStatus)
	r := t.allocs[ev.Alloc.ID]
	if r == nil {
		t.prune()
		r = &allocRecord{created: t.now, evaluation: t.placed(ev.Alloc, status.Replaces)}
		t.allocs[ev.Alloc.ID] = r
		t.change(deploymentTopic(ev.Alloc.Job), deploymentsTopic(""))
	}
	r.modified = t.now
	if !isStatus {
		return
	}
	r.ended = terminal(status.Status)
	r.awaited = r.ended && status.Retry >= 0
	if old := t.allocs[status.Replaces]; old != nil && old.next == "" {
		old.next, old.awaited, old.modified = ev.Alloc.ID, false, t.now
		t.change(allocTopic(status.Replaces))
	}
}

// placed makes the evaluation because of which an allocation was placed, and
// tells of the version of its job if that is new.
func (t *tracker) placed(a *event.Alloc, replaces string) (evaluation string) {
	number := uint64(0)
	if known, ok := t.engine.Alloc(a.ID); ok {
		number = *known.Job.Version
	}
	job := version(a.Job, number)
	if !t.versions[job] {
		t.versions[job] = true
		return t.evaluateLocked(triggerRegister, a.Job, job)
	}
	if stopped := t.evaluationID(triggerStop, replaces); slices.ContainsFunc(t.evaluations, func(e evaluationRecord) bool { return e.id == stopped }) {
		return stopped
	}
	if replaces != "" {
		return t.evaluateLocked(t.whyReplaced(replaces, number), a.Job, replaces)
	}
	return t.evaluationID(triggerRegister, job)
}

// whyReplaced says why an allocation, whose job is of some version, runs in the
// place of another one.
func (t *tracker) whyReplaced(other string, number uint64) (trigger string) {
	if old, ok := t.engine.Alloc(other); ok && *old.Job.Version != number {
		return triggerDeployment
	}
	return triggerFailure
}

// version names a version of a job.
func version(job string, number uint64) string { return job + "@" + strconv.FormatUint(number, 10) }

// prune drops what is known of allocations that the engine has forgotten. What
// that costs is shared by as many new ones as were left.
func (t *tracker) prune() {
	if len(t.allocs) < t.pruneAt {
		return
	}
	known := map[string]bool{}
	for _, a := range t.engine.Allocs() {
		known[a.ID] = true
	}
	for id, r := range t.allocs {
		if r.ended && !known[id] {
			delete(t.allocs, id)
			t.forget(allocTopic(id))
		}
	}
	t.pruneAt = max(64, 2*len(t.allocs))
}

// stamp takes in the change of a variable, and gives it its index.
func (t *tracker) stamp(v *api.VariableMetadata, deleted bool) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	t.change(variablesTopic(""), variableTopic(v.Path))
	shown := *v
	if shown.ModifyIndex = t.now; shown.CreateIndex == 0 {
		shown.CreateIndex = t.now
	}
	t.feed.add(t.now, occurrence{
		topic: topicVariable, kind: "VariableUpdated", key: v.Path, object: variableEvent{&shown, deleted},
	})
	return t.now
}

// change gives topics the present index and wakes who waits for that. The lock
// is held.
func (t *tracker) change(topics ...topic) {
	for _, name := range topics {
		t.indexes[name] = t.now
		if w, ok := t.waiting[name]; ok {
			close(w.changed)
			delete(t.waiting, name)
		}
	}
}

// forget drops the index of what is gone, and wakes those who wait for its
// change. What has no index of its own has the present one from now on, so that
// no query waits for what is gone. The lock is held.
func (t *tracker) forget(name topic) {
	t.change(name)
	delete(t.indexes, name)
	t.forgotten = t.now
}

// alloc returns what is known of an allocation.
func (t *tracker) alloc(id string) allocRecord {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.allocs[id]; r != nil {
		return *r
	}
	return allocRecord{created: firstIndex, modified: firstIndex}
}

// registeredAt returns the index of a job's newest version; 0 before it was told
// of.
func (t *tracker) registeredAt(job string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.registered[job]
}

func (t *tracker) index(name topic) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.indexOf(name)
}

func (t *tracker) indexOf(name topic) uint64 {
	if index, ok := t.indexes[name]; ok {
		return index
	}
	return t.forgotten
}

// wait returns the topic's index, as soon as it is greater than after or the
// time has passed. An index that is still to come is of an earlier engine: who
// sends that is answered at once.
func (t *tracker) wait(ctx context.Context, name topic, after uint64, limit time.Duration) uint64 {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		t.mu.Lock()
		index := t.indexOf(name)
		if after == 0 || index > after || after > t.now {
			t.mu.Unlock()
			return index
		}
		w := t.waiting[name]
		if w == nil {
			w = &waiters{changed: make(chan struct{})}
			t.waiting[name] = w
		}
		w.n++
		t.mu.Unlock()
		select {
		case <-w.changed:
			continue
		case <-timer.C:
		case <-ctx.Done():
		}
		t.leave(name, w)
		return index
	}
}

// leave forgets a topic for which nobody waits any more.
func (t *tracker) leave(name topic, w *waiters) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.n--; w.n == 0 && t.waiting[name] == w {
		delete(t.waiting, name)
	}
}
