package answer

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
)

func TestPlanShowsNoCredentials(t *testing.T) {
	t.Parallel()
	for _, mode := range []ui.Mode{ui.Plain, ui.JSON} {
		source := []*api.FieldDiff{{Type: "Edited", Name: "Source", Old: "https://SECRET@host/x", New: "https://host/x?token=SECRET"}}
		plan := &api.JobPlanResponse{
			Diff: &api.JobDiff{Type: "Edited", ID: "web", Fields: source, TaskGroups: []*api.TaskGroupDiff{{
				Type: "Edited", Name: "g", Tasks: []*api.TaskDiff{{Type: "Edited", Name: "t", Fields: source, Objects: []*api.ObjectDiff{{Type: "Edited", Name: "Artifact", Fields: source}}}},
			}}},
			Annotations: &api.PlanAnnotations{},
		}
		var out bytes.Buffer
		if err := WritePlan(To{&ui.Streams{Out: &out, Env: func(string) string { return "" }}, mode, ui.ColorNever, time.Time{}}, plan, nil); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Contains(text, "SECRET") || strings.Count(text, "https://host/x?token=xxxxx") != 3 {
			t.Errorf("%s: %s", mode, text)
		}
	}
}

// A plan shows additions, deletions and changes, and only the names of
// everything else.
func TestPlan(t *testing.T) {
	t.Parallel()
	fields := []*api.FieldDiff{
		{Type: "Added", Name: "New", New: "n"},
		{Type: "Deleted", Name: "Old", Old: "o"},
		{Type: "Edited", Name: "Count", Old: "1", New: "2\x1b", Annotations: []string{"forces create", "in-place"}},
		{Type: "None", Name: "Same", Old: "s", New: "s"},
	}
	object := []*api.ObjectDiff{{Type: "Added", Name: "Check", Fields: fields[:1], Objects: []*api.ObjectDiff{{Type: "Deleted", Name: "Inner"}}}}
	plan := &api.JobPlanResponse{
		Diff: &api.JobDiff{Type: "Edited", ID: "j", Fields: fields[:1], TaskGroups: []*api.TaskGroupDiff{
			{Type: "Edited", Name: "g", Fields: fields, Objects: object, Updates: map[string]uint64{"destroy": 1, "create": 2}, Tasks: []*api.TaskDiff{
				{Type: "Edited", Name: "t", Annotations: []string{"forces restart"}, Fields: fields[:1], Objects: object},
				{Type: "Added", Name: "new", Fields: fields},
				{Type: "Edited", Name: "named", Objects: []*api.ObjectDiff{
					{Type: "Edited", Name: "Service", Fields: []*api.FieldDiff{{Type: "None", Name: "Name", Old: "web", New: "web"}, fields[0]}},
					{Type: "Edited", Name: "Template", Fields: []*api.FieldDiff{{Type: "Edited", Name: "DestPath", Old: "a", New: "b"}}},
					{Type: "None", Name: "Tags"},
				}},
				{Type: "Deleted", Name: "old", Fields: fields},
			}},
			{Type: "None", Name: "same"},
		}},
		Annotations: &api.PlanAnnotations{DesiredTGUpdates: map[string]*api.DesiredUpdates{"g": {Place: 2}}},
	}
	want := `~ job j
  + New: "n"
  ~ group g (2 create, 1 destroy)
    + New: "n"
    - Old: "o"
    ~ Count: "1" → "2\x1b" (forces create, in-place)
    + Check
      + New: "n"
      - Inner
    ~ task t (forces restart)
      + New: "n"
      + Check
        + New: "n"
        - Inner
    + task new
    ~ task named
      ~ Service web
        + New: "n"
      ~ Template
        ~ DestPath: "a" → "b"
    - task old
    group same
`
	s, out, _ := ui.Test()
	if err := WritePlan(To{s, ui.Plain, ui.ColorNever, begin}, plan, nil); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
	if err := WritePlan(To{s, ui.Quiet, ui.ColorNever, begin}, plan, nil); err != nil || out.Len() > 0 {
		t.Errorf("quietly: %q, %v", out, err)
	}
	if err := WritePlan(To{s, ui.JSON, ui.ColorNever, begin}, plan, nil); err != nil || !strings.HasPrefix(out.String(), `{"type":"plan","time":"2026-03-14T12:00:00Z","job":"j","diff":{`) ||
		!strings.Contains(out.String(), `"groups":{"g":{`) {
		t.Errorf("as an object: %q, %v", out, err)
	}
	out.Reset()
	if err := WritePlan(To{s, ui.Plain, ui.ColorAlways, begin}, plan, nil); err != nil {
		t.Error(err)
	}
	style := ui.NewStyle(true)
	for _, line := range []string{style.Waiting("~ job j"), style.Good(`  + New: "n"`), style.Bad(`    - Old: "o"`), style.Quiet("    group same")} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("no %q in %q", line, out)
		}
	}
}

// Durations are formatted for people, and values that only look like durations
// are not.
func TestPlanShowsDurations(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ field, text, want string }{
		{"KillTimeout", "9000000000", "9s"},
		{"HealthyDeadline", "300000000000", "5m0s"},
		{"Delay", "0", "0s"},
		{"Max", "4", "4"},
		{"Max", "4000000000", "4s"},
		{"KillTimeout", "9s", "9s"},
		{"Delay", "", ""},
		{"Count", "9000000000", "9000000000"},
		{"Env[Timeout]", "9000000000", "9000000000"},
	} {
		if got := value(tt.field, tt.text); got != tt.want {
			t.Errorf("%s %q: %q, want %q", tt.field, tt.text, got, tt.want)
		}
	}
	s, out, _ := ui.Test()
	edited := []*api.FieldDiff{{Type: "Edited", Name: "KillTimeout", Old: "5000000000", New: "9000000000"}, {Type: "Added", Name: "Delay", New: "1000000"}, {Type: "Deleted", Name: "Splay", Old: "1000000000"}}
	plan := &api.JobPlanResponse{Diff: &api.JobDiff{Type: "Edited", ID: "j", Fields: edited}, Annotations: &api.PlanAnnotations{}}
	if err := WritePlan(To{s, ui.Plain, ui.ColorNever, time.Time{}}, plan, nil); err != nil {
		t.Fatal(err)
	}
	written(t, out, "~ job j\n  ~ KillTimeout: \"5s\" → \"9s\"\n  + Delay: \"1ms\"\n  - Splay: \"1s\"\n")
}
