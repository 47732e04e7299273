package trace

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Limits of marks: when there are twice as many as keptMarks, those of the middle that
// weigh least are dropped.
const (
	keptMarks = 96
	maxDetail = 400 // bytes
	maxChecks = 100 // of an allocation; the others are not told apart
)

// marks are the marks of a row or of a run, in order of time.
type marks struct {
	kept    []Mark
	omitted int
}

func (m *marks) add(mark Mark) {
	mark.Title, mark.Detail = cut(mark.Title), cut(mark.Detail)
	if n := len(m.kept); n > 0 {
		mark.Time = later(m.kept[n-1].Time, mark.Time)
	}
	if m.kept = append(m.kept, mark); len(m.kept) == 2*keptMarks {
		m.drop()
	}
}

// absorb adds all marks of later ones, which are empty then.
func (m *marks) absorb(later *marks) {
	for _, mark := range later.kept {
		m.add(mark)
	}
	m.omitted += later.omitted
	*later = marks{}
}

// cut limits a text, which may come from anyone.
func cut(text string) string {
	if len(text) <= maxDetail {
		return text
	}
	n := maxDetail
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.Clone(text[:n]) + "…"
}

// drop drops marks of the middle: the first and the last ones stay, and of the others
// first those that weigh most.
func (m *marks) drop() {
	const ends = keptMarks / 4
	keep := make([]bool, len(m.kept))
	room := keptMarks - 2*ends
	for weight := fold.Trouble; weight >= fold.Ordinary; weight-- {
		for i, mark := range m.kept {
			switch middle := i >= ends && i < len(m.kept)-ends; {
			case !middle:
				keep[i] = true
			case mark.Weight == weight && room > 0:
				keep[i] = true
				room--
			}
		}
	}
	kept := m.kept[:0]
	for i, mark := range m.kept {
		if keep[i] {
			kept = append(kept, mark)
		}
	}
	m.omitted += len(m.kept) - len(kept)
	clear(m.kept[len(kept):]) // their texts
	m.kept = kept
}

func (m *marks) list() []Mark { return slices.Clone(m.kept) }

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

// main returns the first main task of an allocation, or else the task that has run for
// the longest time; nil if there is none.
func (a *alloc) main() (main *row) {
	for _, r := range a.rows {
		if r.stage == Main {
			return r
		}
		if main == nil || r.ran() > main.ran() {
			main = r
		}
	}
	return main
}

// join returns two lists of marks as one.
func join(a, b []Mark) []Mark {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y Mark) int { return x.Time.Compare(y.Time) })
	return all
}
