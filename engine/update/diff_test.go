package update

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// testdata/plans has two versions of a job each, and the difference in the plan of
// a real Nomad 2.0.6.
func TestDiffMatchesNomad(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/plans/*.json")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var recorded struct {
				Before, After *api.Job
				Diff          *api.JobDiff
			}
			if err := json.Unmarshal(text, &recorded); err != nil {
				t.Fatal(err)
			}
			recorded.Before.Canonicalize()
			recorded.After.Canonicalize()
			want, got := lines(recorded.Diff), lines(New(recorded.Before, recorded.After, nil, nil).Diff)
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// lines writes a difference line by line. Groups and tasks are sorted.
func lines(d *api.JobDiff) (all []string) {
	var block func(at string, fields []*api.FieldDiff, objects []*api.ObjectDiff)
	block = func(at string, fields []*api.FieldDiff, objects []*api.ObjectDiff) {
		for _, f := range fields {
			if path := at + "/" + f.Name; !strings.HasSuffix(path, "/Service/Namespace") { // the client's type has none
				all = append(all, strings.Join(append([]string{path, f.Type, f.Old, f.New}, f.Annotations...), " | "))
			}
		}
		for _, o := range objects {
			all = append(all, at+"/"+o.Name+" | "+o.Type)
			block(at+"/"+o.Name, o.Fields, o.Objects)
		}
	}
	all = append(all, d.ID+" | "+d.Type)
	block("", d.Fields, d.Objects)
	slices.SortFunc(d.TaskGroups, func(a, b *api.TaskGroupDiff) int { return strings.Compare(a.Name, b.Name) })
	for _, g := range d.TaskGroups {
		all = append(all, "group "+g.Name+" | "+g.Type)
		block(g.Name, g.Fields, g.Objects)
		slices.SortFunc(g.Tasks, func(a, b *api.TaskDiff) int { return strings.Compare(a.Name, b.Name) })
		for _, t := range g.Tasks {
			all = append(all, "task "+t.Name+" | "+t.Type+" | "+strings.Join(t.Annotations, ", "))
			block(g.Name+"/"+t.Name, t.Fields, t.Objects)
		}
	}
	return all
}
