package tracker

import (
	"context"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/feed"
	"taskrun/engine/httpapi/topic"
	"taskrun/engine/leaf/event"
)

// New returns a tracker of an engine, on a node of this ID. It has to be closed.
func New(e *engine.Engine, node string) *Tracker {
	ctx, cancel := context.WithCancel(context.Background())
	t := &Tracker{
		engine: e, sub: e.Subscribe(false), cancel: cancel, ended: make(chan struct{}),
		now: topic.First, forgotten: topic.First, indexes: map[topic.Topic]uint64{}, waiting: map[topic.Topic]*waiters{},
		allocs: map[string]*Alloc{}, pruneAt: 64, deployments: map[string]*Deployment{}, deployed: map[string]string{},
		versions: map[string]bool{}, registered: map[string]uint64{}, adopted: map[string]uint64{}, Feed: feed.New(),
	}
	t.Feed.Add(topic.First, feed.Occurrence{Topic: api.TopicNode, Kind: "NodeRegistration", Key: node})
	go func() {
		defer close(t.ended)
		defer t.Feed.End()
		defer t.sub.Close()
		for ev, ok := t.sub.Next(ctx); ok; ev, ok = t.sub.Next(ctx) {
			t.observe(ev)
		}
	}()
	return t
}

// Close ends the tracker.
func (t *Tracker) Close() {
	t.cancel()
	<-t.ended
}

func (t *Tracker) observe(ev event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// What clients have changed counts as well, but is not told of again to an
	// engine that takes up the run.
	t.now = max(t.now+1, topic.First+ev.Seq)
	t.take(ev)
	t.tell(ev)
	t.flush()
}

// take takes in what an event changes.
func (t *Tracker) take(ev event.Event) {
	if d, ok := ev.Body.(event.Deployment); ok {
		t.observeDeployment(d, ev.Time)
		t.change(topic.JobDeployments(d.Job), topic.Deployments(""))
		return
	}
	if _, gone := ev.Body.(event.Forgotten); ev.Alloc == nil || gone {
		return
	}
	t.observeAlloc(ev)
	t.change(topic.Allocs(""), topic.Alloc(ev.Alloc.ID), topic.JobAllocs(ev.Alloc.Job))
	switch body := ev.Body.(type) {
	case event.Service:
		t.change(topic.Services(""), topic.Service(body.Name))
	case event.AllocStatus:
		t.change(topic.Jobs(""), topic.Job(ev.Alloc.Job))
		if parent := ev.Alloc.Parent; parent != "" {
			t.change(topic.Job(parent))
		}
	case event.AllocHealth:
		t.change(topic.JobDeployments(ev.Alloc.Job), topic.Deployments(""))
	}
}

// tell adds what an event means to those who read the event stream. The lock
// is held.
func (t *Tracker) tell(ev event.Event) {
	if d, ok := ev.Body.(event.Deployment); ok {
		t.happened = append(t.happened, feed.Occurrence{
			Topic: api.TopicDeployment, Kind: "DeploymentStatusUpdate", Key: d.ID, Filters: []string{d.Job},
		})
		return
	}
	if ev.Alloc == nil {
		return
	}
	alloc := feed.Occurrence{Topic: api.TopicAllocation, Kind: "AllocationUpdated", Key: ev.Alloc.ID, Filters: []string{ev.Alloc.Job}}
	deployment, deployed := t.deployed[ev.Alloc.Job]
	if deployed {
		alloc.Filters = append(alloc.Filters, deployment)
	}
	switch body := ev.Body.(type) {
	case event.AllocStatus:
		if t.allocs[ev.Alloc.ID].Created == t.now {
			alloc.Kind = "PlanResult"
		}
		t.happened = append(t.happened, alloc)
		if Terminal(body.Status) {
			t.happened = append(t.happened, feed.Occurrence{Topic: api.TopicJob, Kind: alloc.Kind, Key: ev.Alloc.Job})
		}
	case event.TaskEvent, event.TaskState:
		t.happened = append(t.happened, alloc)
	case event.AllocHealth:
		t.happened = append(t.happened, alloc)
		if deployed {
			t.happened = append(t.happened, feed.Occurrence{
				Topic: api.TopicDeployment, Kind: "DeploymentAllocHealth", Key: deployment, Filters: []string{ev.Alloc.Job},
			})
		}
	case event.Service:
		t.happened = append(t.happened, serviceOccurrence(ev.Alloc, body, t.now))
	}
}

func serviceOccurrence(a *event.Alloc, body event.Service, index uint64) feed.Occurrence {
	kind := "ServiceDeregistration"
	if body.Registered {
		kind = "ServiceRegistration"
	}
	return feed.Occurrence{
		Topic: api.TopicService, Kind: kind, Key: body.ID, Filters: []string{body.Name, a.Job},
		Object: &api.ServiceRegistration{
			ID: body.ID, ServiceName: body.Name, Namespace: api.DefaultNamespace, JobID: a.Job, AllocID: a.ID,
			Tags: body.Tags, Address: body.Address, Port: body.Port, CreateIndex: index, ModifyIndex: index,
		},
	}
}

// Stamp takes in the change of a variable, and gives it its index.
func (t *Tracker) Stamp(v *api.VariableMetadata, deleted bool) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	t.change(topic.Variables(""), topic.Variable(v.Path))
	shown := *v
	if shown.ModifyIndex = t.now; shown.CreateIndex == 0 {
		shown.CreateIndex = t.now
	}
	t.Feed.Add(t.now, feed.Occurrence{
		Topic: feed.TopicVariable, Kind: "VariableUpdated", Key: v.Path, Object: feed.Variable{Metadata: &shown, Deleted: deleted},
	})
	return t.now
}
