package httpapi

import (
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// fedEntries is how many entries of the event stream are kept for those who
// come late, as in Nomad by default.
const fedEntries = 100

// topicVariable is that of Nomad's variables, which its client has no name for.
const topicVariable api.Topic = "Variable"

// variableEvent tells of a variable, and never of its items.
type variableEvent struct {
	Metadata *api.VariableMetadata
	Deleted  bool
}

// occurrence is an event of the event stream, before its object is looked at:
// that is shown as it is when it is sent.
type occurrence struct {
	topic   api.Topic
	kind    string // Type
	key     string
	filters []string // by which it is found as well
	object  any      // where it is not looked up by its key
}

// entry is what happened at one index.
type entry struct {
	index  uint64
	events []occurrence
	number uint64        // counts entries
	next   *entry        // set before more is closed; nil: nothing comes any more
	more   chan struct{} // closed when there is a next one, or will be none
}

// feed is the event stream: a list of what happened last. Who reads it holds
// on to an entry and finds the later ones from there, however slow it is.
type feed struct {
	mu    sync.Mutex
	first *entry
	last  *entry
	n     int
}

func newFeed() *feed {
	start := &entry{more: make(chan struct{})}
	return &feed{first: start, last: start}
}

// add appends what happened at an index, if anything did.
func (f *feed) add(index uint64, events ...occurrence) {
	if len(events) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	e := &entry{index: index, events: events, number: f.last.number + 1, more: make(chan struct{})}
	f.last.next = e
	close(f.last.more)
	f.last = e
	if f.n++; f.n > fedEntries {
		f.first = f.first.next
		f.n--
	}
}

// behind is by how many entries who reads one is behind those that are kept
// for everybody: it is he who keeps them.
func (f *feed) behind(e *entry) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first.number - min(e.number, f.first.number)
}

// end tells who reads that nothing comes any more.
func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.last.more)
}

// from returns the entry behind which those of an index and later ones are. An
// index that is too old, or 0, means all there are; one that is still to come
// means the last one once more.
func (f *feed) from(index uint64) *entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.first
	for before.next != nil && before.next != f.last && before.next.index < index {
		before = before.next
	}
	return before
}

// tell adds what an event means to those who read the event stream. The lock
// is held.
func (t *tracker) tell(ev event.Event) {
	if d, ok := ev.Body.(event.Deployment); ok {
		t.happened = append(t.happened, occurrence{
			topic: api.TopicDeployment, kind: "DeploymentStatusUpdate", key: d.ID, filters: []string{d.Job},
		})
		return
	}
	if ev.Alloc == nil {
		return
	}
	alloc := occurrence{topic: api.TopicAllocation, kind: "AllocationUpdated", key: ev.Alloc.ID, filters: []string{ev.Alloc.Job}}
	deployment, deployed := t.deployed[ev.Alloc.Job]
	if deployed {
		alloc.filters = append(alloc.filters, deployment)
	}
	switch body := ev.Body.(type) {
	case event.AllocStatus:
		if t.allocs[ev.Alloc.ID].created == t.now {
			alloc.kind = "PlanResult"
		}
		t.happened = append(t.happened, alloc)
		if terminal(body.Status) {
			t.happened = append(t.happened, occurrence{topic: api.TopicJob, kind: alloc.kind, key: ev.Alloc.Job})
		}
	case event.TaskEvent, event.TaskState:
		t.happened = append(t.happened, alloc)
	case event.AllocHealth:
		t.happened = append(t.happened, alloc)
		if deployed {
			t.happened = append(t.happened, occurrence{
				topic: api.TopicDeployment, kind: "DeploymentAllocHealth", key: deployment, filters: []string{ev.Alloc.Job},
			})
		}
	case event.Service:
		t.happened = append(t.happened, serviceOccurrence(ev.Alloc, body, t.now))
	}
}

func serviceOccurrence(a *event.Alloc, body event.Service, index uint64) occurrence {
	kind := "ServiceDeregistration"
	if body.Registered {
		kind = "ServiceRegistration"
	}
	return occurrence{
		topic: api.TopicService, kind: kind, key: body.ID, filters: []string{body.Name, a.Job},
		object: &api.ServiceRegistration{
			ID: body.ID, ServiceName: body.Name, Namespace: api.DefaultNamespace, JobID: a.Job, AllocID: a.ID,
			Tags: body.Tags, Address: body.Address, Port: body.Port, CreateIndex: index, ModifyIndex: index,
		},
	}
}
