package jobs

import (
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// Objects, lists and values are counted outside of strings only.
func TestCount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{
		`{}`: {1, 0}, `[1,2,{"a":[3,4]}]`: {3, 3}, `{"{[,\"{[,":"]"}`: {1, 0}, `["\\",{}]`: {2, 1}, `["a\`: {1, 0}, ``: {0, 0},
	} {
		if blocks, values := count([]byte(text)); blocks != want[0] || values != want[1] {
			t.Errorf("%s: %d blocks and %d values, want %v", text, blocks, values, want)
		}
	}
}

// A job may have ten thousand groups and tasks.
func TestCheckSize(t *testing.T) {
	t.Parallel()
	job := &api.Job{TaskGroups: []*api.TaskGroup{nil, {Tasks: make([]*api.Task, maxTasks-2)}}}
	if err := checkSize(job); err != nil {
		t.Error(err)
	}
	job.TaskGroups[1].Tasks = append(job.TaskGroups[1].Tasks, nil)
	if err := checkSize(job); err == nil || err.Error() != "the job has 10001 groups and tasks: 10000 are the most" {
		t.Error(err)
	}
}

// A null is found at any depth.
func TestCheckNulls(t *testing.T) {
	t.Parallel()
	group := func(g api.TaskGroup) *api.Job { return &api.Job{TaskGroups: []*api.TaskGroup{{}, &g}} }
	for want, job := range map[string]*api.Job{
		"": group(api.TaskGroup{Tasks: []*api.Task{{Config: map[string]any{"a": nil}, Resources: &api.Resources{}}}}),
		"TaskGroups[1].Tasks[0].Resources.Networks[0]": group(api.TaskGroup{Tasks: []*api.Task{{Resources: &api.Resources{Networks: []*api.NetworkResource{nil}}}}}),
		`TaskGroups[1].Volumes["v"]`:                   group(api.TaskGroup{Volumes: map[string]*api.VolumeRequest{"v": nil}}),
		"Constraints[0]":                               {Constraints: []*api.Constraint{nil}},
	} {
		text := ""
		if err := checkNulls(job); err != nil {
			text = err.Error()
		}
		if want != "" {
			want = "null is not a value of the job's " + want
		}
		if text != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
}

// Errors and warnings are listed as Nomad's server lists them, few of many.
func TestListed(t *testing.T) {
	t.Parallel()
	many := make([]string, maxTexts+2)
	for i := range many {
		many[i] = "x"
	}
	for want, texts := range map[string][]string{
		"": nil, "1 error:\n\n* a": {"a"}, "2 errors:\n\n* a\n* b": {"a", "b"},
	} {
		if got := listed("error", few(texts)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := few(many); len(got) != maxTexts+1 || got[maxTexts] != "and 2 more" {
		t.Errorf("%d texts, %q", len(got), got[len(got)-1])
	}
	if got := few(many[:maxTexts]); len(got) != maxTexts || got[maxTexts-1] != "x" {
		t.Errorf("%d texts, %q", len(got), got[len(got)-1])
	}
}

// A source of more than one MiB is not kept, and its user is told.
func TestKeptSource(t *testing.T) {
	t.Parallel()
	for size, warning := range map[int]string{0: "", maxSource: "", maxSource + 1: "the source of the job is not kept: it is larger than 1 MiB"} {
		source := &api.JobSubmission{Source: strings.Repeat("x", size/2), Variables: strings.Repeat("y", size-size/2)}
		if got, warned := kept(source); warned != warning || (got == source) != (warning == "") {
			t.Errorf("%d bytes: %t, %q", size, got == source, warned)
		}
	}
	if got, warned := kept(nil); got != nil || warned != "" {
		t.Errorf("no source: %v, %q", got, warned)
	}
}

// Disabled drivers are not allowed, nor those missing from a list of enabled ones.
func TestAllows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		enabled, disabled []string
		want              bool
	}{
		{nil, nil, true}, {[]string{"a"}, nil, true}, {[]string{"b"}, nil, false}, {nil, []string{"b"}, true}, {nil, []string{"a"}, false}, {[]string{"a"}, []string{"a"}, false},
	} {
		if allows("a", c.enabled, c.disabled) != c.want {
			t.Errorf("%+v", c)
		}
	}
}
