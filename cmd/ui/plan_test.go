package ui

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

func TestAPlanShowsNoCredentials(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Plain, JSON} {
		source := []*api.FieldDiff{{Type: "Edited", Name: "Source", Old: "https://SECRET@host/x", New: "https://host/x?token=SECRET"}}
		plan := &api.JobPlanResponse{
			Diff: &api.JobDiff{Type: "Edited", ID: "web", Fields: source, TaskGroups: []*api.TaskGroupDiff{{
				Type: "Edited", Name: "g", Tasks: []*api.TaskDiff{{Type: "Edited", Name: "t", Fields: source, Objects: []*api.ObjectDiff{{Type: "Edited", Name: "Artifact", Fields: source}}}},
			}}},
			Annotations: &api.PlanAnnotations{},
		}
		var out bytes.Buffer
		if err := WritePlan(&Streams{Out: &out, Env: func(string) string { return "" }}, mode, ColourNever, time.Time{}, plan, nil); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Contains(text, "SECRET") || strings.Count(text, "https://host/x?token=xxxxx") != 3 {
			t.Errorf("%s: %s", mode, text)
		}
	}
}
