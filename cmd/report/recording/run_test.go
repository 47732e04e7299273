package recording

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"taskrun/cmd/report/compare"
)

// Every recording can be compared, and does not differ from itself.
func TestRunOfRecordings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../testdata/*/expected/*.json")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var a, b Recording
		if json.Unmarshal(text, &a) != nil || json.Unmarshal(text, &b) != nil {
			t.Fatalf("%s cannot be read", file)
		}
		run := a.Run()
		if len(run.Allocs) != len(a.Allocs) || len(a.Allocs) > 0 && len(run.Allocs[0].Tasks) == 0 {
			t.Errorf("%s: %d of %d allocations", file, len(run.Allocs), len(a.Allocs))
		}
		for _, d := range compare.Compare(run, b.Run(), compare.Defaults) {
			t.Errorf("%s: differs from itself: %s", file, d.Path())
		}
		for i, alloc := range b.Allocs {
			for name, task := range alloc.Tasks {
				task.Restarts += 2
				alloc.Tasks[name] = task
			}
			b.Allocs[i] = alloc
		}
		if got := compare.Compare(run, b.Run(), compare.Defaults); len(got) == 0 && len(run.Allocs) > 0 {
			t.Errorf("%s: other restarts are no difference", file)
		}
	}
}

func TestPartsOfNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, job, group string
		index            int
	}{
		{"web.app[0]", "web", "app", 0},
		{"my.web.app[12]", "my.web", "app", 12},
		{"web/dispatch-N.app[1]", "web", "dispatch-N/app", 1},
		{"", "", "", 0},
	} {
		if job, group, index := parts(c.name); job != c.job || group != c.group || index != c.index {
			t.Errorf("%q: %q, %q, %d", c.name, job, group, index)
		}
	}
}
