package compare

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/scrub"
	"taskrun/engine/leaf/event"
)

// Limits of the part of a run that is kept for a comparison.
const (
	headEvents  = 200 // first events of a task
	tailEvents  = 50  // latest ones
	generations = 100 // allocations of the same name; beyond them only the latest one
)

// Builder collects what is compared from the events of a run. Its memory is
// bounded by the number of tasks.
type Builder struct {
	began       time.Time
	latest      time.Time
	allocs      map[string]*building // by ID
	order       []*building
	deployments map[string]int // by ID: index in run
	run         Run
	knows       []Kind
	names       map[string][]*building // by name of the allocation
}

// building is an allocation of which more events may come.
type building struct {
	*Alloc
	id       string
	replaced int // how many the run had of this name before
	own      *strings.Replacer
}

// NewBuilder returns a builder for a run that begins with its first event.
func NewBuilder() *Builder {
	return &Builder{allocs: map[string]*building{}, deployments: map[string]int{}, names: map[string][]*building{}}
}

// at returns the time of an event in the run. It is not negative, as an unknown one is:
// of a run that is followed late, the first event told of need not be the earliest.
func (b *Builder) at(e event.Event) time.Duration { return max(0, e.Time.Sub(b.began)) }

// Add adds an event.
func (b *Builder) Add(e event.Event) {
	if b.began.IsZero() {
		b.began = e.Time
	}
	b.latest = e.Time
	if d, ok := e.Body.(event.Deployment); ok {
		b.deployed(d)
	}
	if e.Alloc == nil {
		return
	}
	switch body := e.Body.(type) {
	case event.AllocStatus:
		a := b.alloc(e.Alloc)
		a.Values[Key{Kind: Status}] = join(body.Status, scrub.Text(body.Description))
		if body.Replaces != "" {
			a.Values[Key{Kind: Replacement}] = "true"
		}
	case event.AllocHealth:
		b.alloc(e.Alloc).Values[Key{Kind: Health}] = strconv.FormatBool(body.Healthy)
	case event.Service:
		if body.Registered {
			b.alloc(e.Alloc).Values[Key{Service, body.Name}] = join("registered", strings.Join(body.Tags, ", "))
		}
	case event.Check:
		a, key := b.alloc(e.Alloc), Key{Check, body.Service + "/" + body.Check}
		if a.Values[key] != passed { // it may fail while its task is stopping
			a.Values[key] = body.Status
		}
	case event.TaskEvent:
		b.task(e).happened(b.at(e), body.TaskEvent)
	case event.TaskState:
		b.task(e).changed(b.at(e), body)
	}
}

// passed is the status of a check that has passed once.
const passed = "success"

func join(status, more string) string {
	if more == "" {
		return status
	}
	return status + ": " + more
}

func (b *Builder) deployed(d event.Deployment) {
	state := Deployment{Job: scrub.Text(d.Job), Status: join(d.Status, scrub.Text(d.Description))}
	if i, ok := b.deployments[d.ID]; ok {
		b.run.Deployments[i] = state
		return
	}
	if len(b.run.Deployments) < generations {
		b.deployments[d.ID] = len(b.run.Deployments)
		b.run.Deployments = append(b.run.Deployments, state)
	}
}

// alloc returns an allocation, and adds it if it is new.
func (b *Builder) alloc(id *event.Alloc) *building {
	if a := b.allocs[id.ID]; a != nil {
		return a
	}
	a := &building{id: id.ID, own: scrub.Own(id.ID, nil), Alloc: &Alloc{Job: id.Job, Group: id.Group, Index: id.Index(), Values: map[Key]string{}, Tasks: map[string]*Task{}}}
	if child, ok := strings.CutPrefix(id.Job, id.Parent+"/"); ok && id.Parent != "" {
		a.Job, a.Group = id.Parent, scrub.Text(child)+"/"+id.Group
	}
	name := fmt.Sprint(a.Job, "\x00", a.Group, "\x00", a.Index)
	if same := b.names[name]; len(same) == generations {
		last := same[len(same)-1]
		delete(b.allocs, last.id)
		a.replaced = max(last.replaced, generations-1) + 1
		a.Values[Key{Replacement, "allocations of this name"}] = strconv.Itoa(a.replaced + 1)
		*last = *a
		a = last
	} else {
		b.names[name] = append(same, a)
		b.order = append(b.order, a)
	}
	b.allocs[id.ID] = a
	return a
}

func (b *Builder) task(e event.Event) *Task {
	a := b.alloc(e.Alloc)
	t := a.Tasks[e.Task]
	if t == nil {
		t = &Task{Values: map[Key]string{}, Received: Unknown, Started: Unknown, Ended: Unknown}
		a.Tasks[e.Task] = t
	}
	return t
}

func (t *Task) changed(at time.Duration, s event.TaskState) {
	t.Values[Key{Kind: State}] = s.State
	t.Values[Key{Kind: Restarts}] = strconv.FormatUint(s.Restarts, 10)
	t.Values[Key{Kind: Failed}] = strconv.FormatBool(s.Failed || t.Values[Key{Kind: Failed}] == "true")
	switch {
	case s.State == "running" && t.Started < 0:
		t.Started = at
	case s.State == "dead" && t.Ended < 0:
		t.Ended = at
	}
}

func (t *Task) happened(at time.Duration, e *api.TaskEvent) {
	switch e.Type {
	case api.TaskReceived:
		t.Received = at
	case api.TaskStarted:
		t.Stopped = false
	case api.TaskKilling, event.TaskPausing:
		t.Stopped = true
	case api.TaskTerminated:
		if code := e.Details["exit_code"]; code != "" {
			t.Values[Key{Kind: ExitCode}] = code
		}
	}
	if len(t.Events) == headEvents+1+tailEvents {
		t.Events[headEvents] = Event{At: t.Events[headEvents].At, Type: "…", Message: "more events"}
		t.Events = slices.Delete(t.Events, headEvents+1, headEvents+2)
	}
	t.Events = append(t.Events, NewEvent(at, e.Type, e.DisplayMessage, e.Details))
}

// delayed replaces the delay in the message of an event.
const delayed = "DELAY"

var restarting = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`restarting in ([0-9.a-zµ]+)`) })

// unstable are the details that differ from run to run; the delay of a restart is
// compared by itself.
var unstable = []string{"start_delay", "memory_peak"}

// NewEvent returns a task event as it is compared.
func NewEvent(at time.Duration, kind, message string, details map[string]string) Event {
	e := Event{At: at, Type: kind}
	var found []int
	if strings.Contains(message, "restarting in ") {
		found = restarting().FindStringSubmatchIndex(message)
	}
	if found != nil {
		if d, err := time.ParseDuration(message[found[2]:found[3]]); err == nil {
			e.Delay, message = d, message[:found[2]]+delayed+message[found[3]:]
			if d == 0 {
				message = strings.Replace(message, delayed, "0s", 1)
			}
		}
	}
	e.Message = scrub.Text(message)
	if details == nil {
		return e
	}
	e.Details = make(map[string]string, len(details))
	for key, value := range details {
		if !slices.Contains(unstable, key) {
			e.Details[key] = scrub.Text(value)
		}
	}
	return e
}

// Run returns the run as far as its events have been added.
func (b *Builder) Run() *Run {
	r := b.run
	r.Took = Unknown
	if !b.began.IsZero() {
		r.Took = b.latest.Sub(b.began)
	}
	r.Values = map[Key]string{}
	r.Lacks = []Kind{Command, File, Output, Server, Template, Variable}
	r.Lacks = slices.DeleteFunc(r.Lacks, func(k Kind) bool { return slices.Contains(b.knows, k) })
	for _, a := range b.order {
		r.Allocs = append(r.Allocs, a.Alloc)
	}
	return &r
}

// SetVariables records the environment of a task, as NAME=value, in place of an
// earlier one. Tasks of which there were no events have none.
func (b *Builder) SetVariables(alloc, task string, env []string) {
	a := b.allocs[alloc]
	if a == nil || a.Tasks[task] == nil {
		return
	}
	var ports []int
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if port, err := strconv.Atoi(value); err == nil && portName().MatchString(name) {
			ports = append(ports, port)
		}
	}
	a.own = scrub.Own(alloc, ports)
	values := a.Tasks[task].Values
	maps.DeleteFunc(values, func(k Key, _ string) bool { return k.Kind == Variable })
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		values[Key{Variable, name}] = a.own.Replace(scrub.Text(value))
	}
}

// portName matches the names of variables with the number of a port.
var portName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^NOMAD_(HOST_|ALLOC_)?PORT_`) })

// AddTemplate records what a template of a task has rendered, after the environment
// of the task. Only its size and its hash are kept, because it may have secrets.
func (b *Builder) AddTemplate(alloc, task, destination, text string) {
	if a := b.allocs[alloc]; a != nil && a.Tasks[task] != nil {
		text = a.own.Replace(scrub.Lines(text))
		a.Tasks[task].Values[Key{Template, destination}] = fmt.Sprintf("%d bytes, sha256 %.6x", len(text), sha256.Sum256([]byte(text)))
	}
}

// Allocs returns the IDs of the allocations, each with the name of its group.
func (b *Builder) Allocs() iter.Seq2[string, string] {
	return func(yield func(id, group string) bool) {
		for _, a := range b.order {
			if !yield(a.id, path.Base(a.Group)) {
				return
			}
		}
	}
}

// Knows records that a kind is known, even if the run has none of it.
func (b *Builder) Knows(k Kind) { b.knows = append(b.knows, k) }

// Arrange records the lifecycle of the tasks of jobs, which decides the order in
// which they start and end.
func (r *Run) Arrange(jobs []*api.Job) {
	for _, a := range r.Allocs {
		_, group, child := strings.Cut(a.Group, "/")
		if !child {
			group = a.Group
		}
		for _, j := range jobs {
			if g := j.LookupTaskGroup(group); g != nil && *j.ID == a.Job {
				a.arrange(g.Tasks)
			}
		}
	}
}

func (a *Alloc) arrange(tasks []*api.Task) {
	for _, spec := range tasks {
		t := a.Tasks[spec.Name]
		if t == nil {
			continue
		}
		t.Lifecycle = new("")
		if l := spec.Lifecycle; l != nil {
			*t.Lifecycle = l.Hook
			if l.Sidecar {
				*t.Lifecycle += " sidecar"
			}
		}
	}
}
