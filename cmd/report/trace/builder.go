package trace

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Builder makes the trace of a run from its events. Its memory is bounded, however
// long the run.
type Builder struct{ begin, end time.Time }

// NewBuilder returns a builder of the trace of a run with jobs, which must be
// canonical. Without jobs the stages of tasks are not known.
func NewBuilder(jobs []*api.Job) *Builder { return &Builder{} }

// Add adds the next event of the run.
func (b *Builder) Add(e event.Event) {
	if b.begin.IsZero() {
		b.begin = e.Time
	}
	b.end = e.Time
}

// Trace returns the trace of the events so far. It does not change when more are
// added. A run that goes on is traced up to now; now is zero for one that has ended.
func (b *Builder) Trace(now time.Time) *Trace { return &Trace{Begin: b.begin, End: b.end} }
