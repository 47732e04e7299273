package update

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
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

// Whatever a client sends, there is a difference.
func TestDiffOfEverySetting(t *testing.T) {
	t.Parallel()
	full := func(depth int) *api.Job {
		job := &api.Job{}
		fill(reflect.ValueOf(job).Elem(), depth)
		job.ID, job.Type = new("a"), new("a")
		for i, g := range job.TaskGroups {
			g.Name, g.Count = new(fmt.Sprint("group", i)), new(1)
			for k, task := range g.Tasks {
				task.Name = fmt.Sprint("task", k)
			}
		}
		return job
	}
	bare := &api.Job{ID: new("a"), Type: new("a")}
	for depth := 1; depth < 14; depth++ {
		for _, job := range []*api.Job{full(depth), bare} {
			for _, before := range []*api.Job{full(depth - 1), bare, nil} {
				Diff(before, job)
			}
		}
	}
	objects := map[string]bool{}
	for _, g := range Diff(bare, full(13)).TaskGroups {
		for _, o := range append(g.Objects, g.Tasks[0].Objects...) {
			objects[o.Name] = true
		}
	}
	for _, name := range []string{"Constraint", "Network", "Service", "Volume", "Config", "Template", "Artifact", "Identity", "Lifecycle", "Vault"} {
		if !objects[name] {
			t.Errorf("no %s in %v", name, objects)
		}
	}
}

// fill sets all settings of a job down to a depth.
func fill(v reflect.Value, depth int) {
	if depth < 0 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth-1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), depth)
		fill(v.Index(1), depth)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		element, key := reflect.New(v.Type().Elem()).Elem(), reflect.New(v.Type().Key()).Elem()
		fill(element, depth)
		fill(key, depth)
		v.SetMapIndex(key, element)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf([]any{map[string]any{"a": 1.5, "b": nil}, "x"}))
		}
	case reflect.String:
		v.SetString("a")
	case reflect.Int, reflect.Int8, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(7)
	case reflect.Bool:
		v.SetBool(true)
	}
}

func TestManyBlocks(t *testing.T) {
	t.Parallel()
	job := func(value string) *api.Job {
		j := newJob()
		for i := range 8_000 {
			j.Constraints = append(j.Constraints, api.NewConstraint(value, "=", fmt.Sprint(i)))
			j.TaskGroups[0].Services = append(j.TaskGroups[0].Services, &api.Service{Name: value + fmt.Sprint(i), PortLabel: value})
		}
		return j
	}
	d := Diff(job("a"), job("b"))
	if services := d.TaskGroups[0].Objects; len(d.Objects) != 16_000 || len(services) != 16_000 {
		t.Errorf("%d and %d differences", len(d.Objects), len(services))
	}
}

func TestOrderOfStrings(t *testing.T) {
	t.Parallel()
	before, after := newJob(), newJob()
	before.TaskGroups[0].Tasks[0].Services[0].Tags = []string{"a", "b"}
	after.TaskGroups[0].Tasks[0].Services[0].Tags = []string{"b", "a"}
	if task := Diff(before, after).TaskGroups[0].Tasks[0]; len(task.Objects) > 0 {
		t.Errorf("%+v", task.Objects[0])
	}
}

// An upstream is known by its destination, and its blocks have Nomad's names. What a
// server leaves out is not shown.
func TestDiffOfUpstreams(t *testing.T) {
	t.Parallel()
	job := func(destination string, port int) *api.Job {
		j := newJob()
		s := j.TaskGroups[0].Tasks[0].Services[0]
		s.Connect = &api.ConsulConnect{SidecarService: &api.ConsulSidecarService{Proxy: &api.ConsulProxy{
			Upstreams: []*api.ConsulUpstream{{DestinationName: destination, LocalBindPort: port}},
		}}}
		j.TaskGroups[0].Tasks[0].LogConfig.Enabled = new(port == 1)
		return j
	}
	const at = "g/t/Service/ConsulConnect/SidecarService/ConsulProxy/ConsulUpstreams | "
	for name, tt := range map[string]struct {
		after *api.Job
		want  []string
	}{
		"another port":        {job("db", 2), []string{at + edited}},
		"another destination": {job("cache", 2), []string{at + added, at + deleted}},
	} {
		var got []string
		for _, line := range lines(Diff(job("db", 1), tt.after)) {
			if strings.HasPrefix(line, at) {
				got = append(got, line)
			}
			if strings.Contains(line, "/Enabled") {
				t.Errorf("%s: %s", name, line)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
