package answer

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/jobspec/redact"
	"taskrun/jobspec/visible"
)

type plan struct {
	Job     string                         `json:"job"`
	Diff    *api.JobDiff                   `json:"diff"`
	Groups  map[string]*api.DesiredUpdates `json:"groups"`
	Rollout []RolloutStep                  `json:"rollout"`
}

// WritePlan writes the differences of a new version of a job, and the steps of
// its rollout: as indented lines, or as one object.
func WritePlan(to To, p *api.JobPlanResponse, rollout []RolloutStep) error {
	hideCredentials(p.Diff)
	item := plan{p.Diff.ID, p.Diff, p.Annotations.DesiredTGUpdates, append([]RolloutStep{}, rollout...)}
	return write(to, "plan", []plan{item}, nil, func(out io.Writer) {
		w := planWriter{out, to.style()}
		w.job(p.Diff)
		writeRollout(w.line, p.Diff.ID, rollout)
	})
}

// hideCredentials hides the credentials in URLs, such as the sources of
// artifacts.
func hideCredentials(d *api.JobDiff) {
	var hide func([]*api.FieldDiff, []*api.ObjectDiff)
	hide = func(fields []*api.FieldDiff, objects []*api.ObjectDiff) {
		for _, f := range fields {
			f.Old, f.New = redact.Text(f.Old), redact.Text(f.New)
		}
		for _, o := range objects {
			hide(o.Fields, o.Objects)
		}
	}
	hide(d.Fields, d.Objects)
	for _, g := range d.TaskGroups {
		hide(g.Fields, g.Objects)
		for _, t := range g.Tasks {
			hide(t.Fields, t.Objects)
		}
	}
}

// planWriter writes a diff: a sign, then the name of the item.
type planWriter struct {
	out   io.Writer
	style *ui.Style
}

var signs = map[string]string{"Added": "+", "Deleted": "-", "Edited": "~"}

func (w planWriter) line(depth int, kind, text string) {
	sign := cmp.Or(signs[kind], " ")
	fmt.Fprintln(w.out, paintOf(w.style, sign)(strings.Repeat("  ", depth)+sign+" "+visible.String(text)))
}

func (w planWriter) job(d *api.JobDiff) {
	w.line(0, d.Type, "job "+d.ID)
	w.fields(1, d.Fields, d.Objects)
	for _, g := range d.TaskGroups {
		var numbers []string
		for _, what := range slices.Sorted(maps.Keys(g.Updates)) {
			numbers = append(numbers, fmt.Sprintf("%d %s", g.Updates[what], what))
		}
		w.line(1, g.Type, noted("group "+g.Name, numbers))
		w.fields(2, g.Fields, g.Objects)
		for _, t := range g.Tasks {
			w.line(2, t.Type, noted("task "+t.Name, t.Annotations))
			if t.Type == "Edited" { // otherwise the sign says enough
				w.fields(3, t.Fields, t.Objects)
			}
		}
	}
}

func (w planWriter) fields(depth int, fields []*api.FieldDiff, objects []*api.ObjectDiff) {
	for _, f := range fields {
		text := f.Name + ": "
		switch f.Type {
		case "Added":
			text += fmt.Sprintf("%q", value(f.Name, f.New))
		case "Deleted":
			text += fmt.Sprintf("%q", value(f.Name, f.Old))
		case "Edited":
			text += fmt.Sprintf("%q → %q", value(f.Name, f.Old), value(f.Name, f.New))
		default:
			continue
		}
		w.line(depth, f.Type, noted(text, f.Annotations))
	}
	for _, o := range objects {
		if o.Type != "None" {
			w.line(depth, o.Type, titleOf(o))
			w.fields(depth+1, o.Fields, o.Objects)
		}
	}
}

// titleOf returns the name of an object with that of its block, unless the name
// has changed.
func titleOf(o *api.ObjectDiff) string {
	for _, f := range o.Fields {
		switch f.Name {
		case "Name", "Label", "DestPath", "Volume":
			if f.Type == "None" && f.New != "" {
				return o.Name + " " + f.New
			}
		}
	}
	return o.Name
}

// value formats the value of a field for people: durations are in nanoseconds.
func value(field, text string) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return text
	}
	switch field {
	case "Min", "Max": // of a wait block, or counts of a scaling block
		if n < int64(time.Millisecond) {
			return text
		}
	case "ConnectTimeout", "Deadline", "Delay", "Grace", "HealthyDeadline", "Interval", "KillTimeout", "LostAfter", "MaxClientDisconnect",
		"MaxDelay", "MaxRunDuration", "MinHealthyTime", "ProgressDeadline", "ShutdownDelay", "Splay", "Stagger", "StopAfterClientDisconnect",
		"StopOnClientAfter", "TTL", "Timeout", "VaultGrace":
	default:
		return text
	}
	return time.Duration(n).String()
}

func noted(text string, notes []string) string {
	if len(notes) == 0 {
		return text
	}
	return text + " (" + strings.Join(notes, ", ") + ")"
}
