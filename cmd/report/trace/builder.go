package trace

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Limits of a trace. Beyond them, its middle is merged.
const (
	maxRows    = 5000 // further tasks are left out
	maxAllocs  = 5000 // further allocations are left out
	keepFirst  = 8    // first allocations of a name
	keepLast   = 16   // last allocations of a name
	mergeAbove = 32   // allocations of a name
)

// Builder makes the trace of a run from its events. Its memory is bounded, however
// long the run.
type Builder struct {
	jobs       []*api.Job
	run        *fold.Run // of task events, task states and statuses only: the rest could grow
	begin, end time.Time
	ids        map[string]bool     // of jobs
	allocs     map[string]*alloc   // by ID
	names      map[string][]*alloc // by job and name, in order of appearance
	rows       int
	marks      marks
	omitted    int
	healthy    *verdict  // the latest allocation that became healthy
	updated    time.Time // latest version of a job
}

// NewBuilder returns a builder of the trace of a run with jobs, which must be
// canonical. Without jobs the stages of tasks are not known.
func NewBuilder(jobs []*api.Job) *Builder {
	return &Builder{
		jobs: jobs, run: fold.New(jobs), ids: map[string]bool{}, allocs: map[string]*alloc{},
		names: map[string][]*alloc{},
	}
}

// Add adds the next event of the run. Output changes nothing.
func (b *Builder) Add(e event.Event) {
	switch body := e.Body.(type) {
	case event.Deployment, event.Version, event.Evaluation, event.Notice:
		b.reach(e.Time)
		b.ofRun(e)
	case event.TaskEvent:
		if body.TaskEvent == nil {
			return
		}
		if r := b.row(e); r != nil {
			b.run.Apply(e)
			r.happened(e.Time, body.TaskEvent)
		}
	case event.TaskState:
		if r := b.row(e); r != nil {
			b.run.Apply(e)
			r.changed(e.Time, body)
		}
	case event.AllocStatus:
		if a := b.alloc(e); a != nil {
			b.run.Apply(e)
			b.became(a, e.Time, body)
		}
	case event.AllocHealth, event.Check, event.Service:
		if a := b.alloc(e); a != nil {
			b.ofAlloc(a, e)
		}
	}
}

// reach extends the trace to a moment.
func (b *Builder) reach(at time.Time) {
	if b.begin.IsZero() || at.Before(b.begin) {
		b.begin = at
	}
	if at.After(b.end) {
		b.end = at
	}
}

// alloc returns the allocation of an event, or nil if there are too many.
func (b *Builder) alloc(e event.Event) *alloc {
	if e.Alloc == nil {
		return nil
	}
	b.reach(e.Time)
	if a := b.allocs[e.Alloc.ID]; a != nil {
		return a
	}
	if len(b.allocs) == maxAllocs {
		b.omitted++
		return nil
	}
	a := &alloc{Alloc: e.Alloc, state: b.run.Alloc(e.Alloc), began: e.Time, checks: map[string]string{}, byTask: map[string]*row{}}
	a.tasksOfJob, a.stages = stagesOf(e.Alloc, b.jobs)
	if h := b.healthy; h != nil && h.Job == a.Job && h.at.After(b.updated) {
		a.after = h
	}
	b.ids[a.Job] = true
	b.allocs[a.ID] = a
	key := a.Job + "\x00" + a.Name
	a.number = 1
	if same := b.names[key]; len(same) > 0 {
		a.number = same[len(same)-1].number + 1
	}
	b.names[key] = append(b.names[key], a)
	if len(b.names[key]) > mergeAbove {
		b.names[key] = b.mergeAllocs(b.names[key])
	}
	return a
}

// row returns the task of an event, or nil if there are too many.
func (b *Builder) row(e event.Event) *row {
	a := b.alloc(e)
	if a == nil {
		return nil
	}
	if r := a.byTask[e.Task]; r != nil {
		return r
	}
	if b.rows == maxRows {
		b.omitted++
		return nil
	}
	b.rows++
	r := &row{alloc: a, task: e.Task, state: b.run.Task(e), stage: a.stages[e.Task], last: e.Time}
	a.add(r)
	return r
}

// became takes in the status of an allocation.
func (b *Builder) became(a *alloc, at time.Time, s event.AllocStatus) {
	if old := b.allocs[s.Replaces]; old != nil && old != a && a.replaces == nil {
		a.replaces, a.attempt = old, old.attempt+1
	}
	if !a.state.Ended() {
		a.ended = time.Time{}
		return
	}
	if a.ended.IsZero() {
		a.ended = at
		b.ofAlloc(a, event.Event{Time: at, Alloc: a.Alloc, Body: s})
	}
}

// mergeAllocs merges the middle of the allocations of a name, which have ended, into
// one.
func (b *Builder) mergeAllocs(all []*alloc) (kept []*alloc) {
	var into *alloc
	for i, a := range all {
		switch {
		case i < keepFirst || i >= len(all)-keepLast || a.ended.IsZero():
			kept = append(kept, a)
		case into == nil:
			into = a
			kept = append(kept, a)
		default:
			b.absorb(into, a)
		}
	}
	for _, a := range kept { // those that were merged must not stay in memory
		if a.replaces != nil && b.allocs[a.replaces.ID] == nil {
			a.replaces = into
		}
	}
	return kept
}

// absorb merges an allocation that has ended into an earlier one.
func (b *Builder) absorb(into, a *alloc) {
	into.merged = max(1, into.merged) + max(1, a.merged)
	into.ended = a.ended
	into.marks.absorb(&a.marks)
	for _, r := range a.rows {
		o := into.byTask[r.task]
		if o == nil {
			r.alloc = into
			into.add(r)
			continue
		}
		o.absorb(r)
		b.rows--
	}
	a.rows, a.byTask, a.replaces, a.after = nil, nil, nil, nil
	delete(b.allocs, a.ID)
	b.run.Forget(event.Event{Alloc: a.Alloc, Body: event.Forgotten{}})
}

// Trace returns the trace of the events so far. Later events do not change it. The
// trace of a live run ends at now; now is zero for a run that has ended.
func (b *Builder) Trace(now time.Time) *Trace {
	t := &Trace{
		Jobs: slices.Sorted(maps.Keys(b.ids)), Begin: b.begin, End: b.end, Live: !now.IsZero(),
		Marks: b.marks.list(), Omitted: b.omitted + b.marks.omitted,
	}
	if t.Live && now.After(t.End) {
		t.End = now
	}
	copies := map[*row]*Row{}
	indexes := map[string]bool{}
	rows := b.sorted()
	for _, r := range rows {
		row := r.row(t.End)
		if a := r.alloc; r == a.main() {
			row.Marks = slices.Concat(row.Marks, a.marks.kept)
			slices.SortStableFunc(row.Marks, func(x, y Mark) int { return x.Time.Compare(y.Time) })
			row.Omitted += a.marks.omitted
		}
		copies[r] = row
		t.Rows = append(t.Rows, row)
		t.Omitted += row.Omitted
		indexes[r.alloc.Job+"\x00"+r.alloc.Name] = true
	}
	for r, row := range copies {
		row.Name = name(r, len(t.Jobs) > 1, len(indexes) > 1)
		for i, s := range r.spans {
			row.Spans[i].After = copies[s.after]
		}
	}
	t.Status = b.status(t.Live)
	critical(t, b.healthy, rows, copies)
	return t
}

// sorted returns all rows in reading order.
func (b *Builder) sorted() (rows []*row) {
	for _, a := range b.allocs {
		rows = append(rows, a.rows...)
	}
	slices.SortStableFunc(rows, func(r, o *row) int {
		x, y := r.alloc, o.alloc
		return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Group, y.Group), cmp.Compare(x.Index(), y.Index()),
			x.began.Compare(y.began), cmp.Compare(x.attempt, y.attempt), cmp.Compare(x.ID, y.ID),
			cmp.Compare(r.stage.rank(), o.stage.rank()))
	})
	return rows
}

// status returns how the run is, or how it ended.
func (b *Builder) status(live bool) string {
	status := api.AllocClientStatusComplete
	for _, a := range b.run.Final() {
		switch {
		case live:
			return api.AllocClientStatusRunning
		case a.Status == api.AllocClientStatusFailed:
			return a.Status
		case !a.Ended():
			status = api.AllocClientStatusLost
		case status == api.AllocClientStatusComplete && a.Stopped():
			status = stopped
		}
	}
	return status
}

// ofRun adds the mark of an event that concerns no allocation.
func (b *Builder) ofRun(e event.Event) {
	m := Mark{Time: e.Time}
	job := ""
	switch body := e.Body.(type) {
	case event.Deployment:
		job, m.Kind, m.Title, m.Detail = body.Job, Deployment, "deployment "+body.Status, body.Description
		switch {
		case body.Status == api.DeploymentStatusFailed:
			m.Weight = fold.Trouble
		case body.Canarying, body.Status == api.DeploymentStatusPaused:
			m.Weight = fold.Setback
		}
	case event.Version:
		job, m.Kind, m.Title = body.Job, Registration, "version "+strconv.FormatUint(body.Number, 10)
		switch {
		case body.Stable:
			m.Detail = "stable"
		case body.Number > 0:
			b.updated = e.Time
		}
	case event.Evaluation:
		job, m.Kind, m.Title = body.Job, Evaluation, "evaluation "+string(body.Trigger)
	case event.Notice:
		m.Kind, m.Title, m.Detail = Notice, "notice", body.Text
	}
	if len(b.ids) > 1 && job != "" {
		m.Title = job + ": " + m.Title
	}
	b.marks.add(m)
}

// ofAlloc adds the mark of an event that concerns an allocation. It shows with its main
// task.
func (b *Builder) ofAlloc(a *alloc, e event.Event) {
	m := Mark{Time: e.Time}
	switch body := e.Body.(type) {
	case event.AllocStatus:
		m.Kind, m.Title, m.Detail = AllocStatus, "allocation "+body.Status, body.Description
		if body.Status == api.AllocClientStatusFailed {
			m.Weight = fold.Trouble
		}
	case event.AllocHealth:
		m.Kind, m.Title, m.Weight = Health, "not healthy", fold.Trouble
		if body.Healthy {
			m.Title, m.Weight, m.Good = "healthy", fold.Ordinary, true
			b.healthy = &verdict{a, e.Time}
		}
	case event.Service:
		m.Kind, m.Title, m.Detail = Service, "service "+body.Name+" deregistered", body.Address
		if body.Registered {
			m.Title = "service " + body.Name + " registered"
		}
		if body.Address != "" && body.Port > 0 {
			m.Detail = net.JoinHostPort(body.Address, strconv.Itoa(body.Port))
		}
	case event.Check:
		key := cut(body.Service + "\x00" + body.Check)
		if a.checks[key] == body.Status {
			return // only its output is new
		}
		if len(a.checks) < maxChecks {
			a.checks[key] = body.Status
		}
		m.Kind, m.Title, m.Detail = Check, "check "+body.Check+": "+body.Status, body.Output
		switch body.Status {
		case "failure":
			m.Weight = fold.Trouble
		case "success":
			m.Good = true
		}
	}
	a.marks.add(m)
}
