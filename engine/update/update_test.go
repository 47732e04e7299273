package update

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

func newJob() *api.Job {
	task := api.NewTask("t", "raw_exec")
	task.Config = map[string]any{"command": "sleep", "args": []any{"1", "2"}, "n": 3}
	task.Env = map[string]string{"A": "1"}
	task.Services = []*api.Service{{Name: "s", PortLabel: "http"}}
	g := api.NewTaskGroup("g", 3)
	g.Tasks = []*api.Task{task}
	g.Networks = []*api.NetworkResource{{DynamicPorts: []api.Port{{Label: "http"}}}}
	job := &api.Job{ID: new("job"), TaskGroups: []*api.TaskGroup{g}}
	job.Canonicalize()
	return job
}

// clone copies a job through JSON, as if a client had sent it.
func clone(t *testing.T, job *api.Job) *api.Job {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	var c api.Job
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

func running(n int) (list []Place) {
	for i := range n {
		list = append(list, Place{Group: "g", Index: i, Alloc: fmt.Sprint("a", i)})
	}
	return list
}

func failed(index int) Place { return Place{Group: "g", Index: index, State: Failed} }

func over(index int) Place { return Place{Group: "g", Index: index, State: Over} }

// only returns the only version, the first one.
func only(job *api.Job) func(uint64) *api.Job { return func(uint64) *api.Job { return job } }

// plan returns the effect of the step from the job of these tests to another
// one.
func plan(before, after *api.Job, places []Place) *Plan {
	return New(before, after, only(before), places)
}

// TestKinds checks the effect of a change of each field; see Nomad's rules.
func TestKinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(j *api.Job, g *api.TaskGroup, task *api.Task)
		want   Kind
	}{
		"nothing":       {func(*api.Job, *api.TaskGroup, *api.Task) {}, Ignore},
		"of the server": {func(j *api.Job, _ *api.TaskGroup, _ *api.Task) { j.Version, j.Status = new(uint64(7)), new("dead") }, Ignore},
		"given port":    {func(_ *api.Job, g *api.TaskGroup, _ *api.Task) { g.Networks[0].DynamicPorts[0].Value = 8080 }, Ignore},
		"device":        {func(_ *api.Job, g *api.TaskGroup, _ *api.Task) { g.Networks[0].Device = "eth0" }, Ignore},
		"handed down": {func(j *api.Job, _ *api.TaskGroup, _ *api.Task) {
			j.Update, j.Migrate, j.Reschedule = &api.UpdateStrategy{Canary: new(1)}, &api.MigrateStrategy{}, &api.ReschedulePolicy{}
		}, Ignore},
		"superseded": {func(_ *api.Job, g *api.TaskGroup, _ *api.Task) {
			g.StopAfterClientDisconnect, g.MaxClientDisconnect = new(time.Second), new(time.Second)
		}, Ignore},
		"priority":     {func(j *api.Job, _ *api.TaskGroup, _ *api.Task) { j.Priority = new(70) }, InPlace},
		"count":        {func(_ *api.Job, g *api.TaskGroup, _ *api.Task) { g.Count = new(3); g.Update.Stagger = new(time.Minute) }, InPlace},
		"restart":      {func(_ *api.Job, g *api.TaskGroup, _ *api.Task) { g.RestartPolicy.Attempts = new(9) }, InPlace},
		"group delay":  {func(_ *api.Job, g *api.TaskGroup, _ *api.Task) { g.ShutdownDelay = new(time.Second) }, InPlace},
		"kill timeout": {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.KillTimeout = new(time.Minute) }, InPlace},
		"kill signal":  {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.KillSignal = "SIGHUP" }, InPlace},
		"leader":       {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.Leader = true }, InPlace},
		"service tags": {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.Services[0].Tags = []string{"x"} }, InPlace},
		"log sizes":    {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.LogConfig.MaxFiles = new(3) }, InPlace},
		"constraint": {func(j *api.Job, _ *api.TaskGroup, _ *api.Task) {
			j.Constraints = []*api.Constraint{{LTarget: "${attr.cpu.arch}"}}
		}, InPlace},
		"disk":         {func(_ *api.Job, g *api.TaskGroup, _ *api.Task) { g.EphemeralDisk.SizeMB = new(500) }, Destructive},
		"network mode": {func(_ *api.Job, g *api.TaskGroup, _ *api.Task) { g.Networks[0].Mode = "bridge" }, Destructive},
		"port":         {func(_ *api.Job, g *api.TaskGroup, _ *api.Task) { g.Networks[0].DynamicPorts[0].To = 80 }, Destructive},
		"volume": {func(_ *api.Job, g *api.TaskGroup, _ *api.Task) {
			g.Volumes = map[string]*api.VolumeRequest{"v": {Source: "x"}}
		}, Destructive},
		"connect": {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) {
			t.Services[0].Connect = &api.ConsulConnect{Native: true}
		}, Destructive},
		"one more task": {func(_ *api.Job, g *api.TaskGroup, _ *api.Task) {
			g.Tasks = append(g.Tasks, api.NewTask("u", "raw_exec"))
		}, Destructive},
		"name of the task":   {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.Name = "u" }, Destructive},
		"driver":             {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.Driver = "exec" }, Destructive},
		"config":             {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.Config["args"] = []any{"2"} }, Destructive},
		"env":                {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.Env["A"] = "2" }, Destructive},
		"env removed":        {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.Env = nil }, Destructive},
		"template":           {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.Templates = []*api.Template{{DestPath: new("x")}} }, Destructive},
		"memory":             {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.Resources.MemoryMB = new(500) }, Destructive},
		"meta of the job":    {func(j *api.Job, _ *api.TaskGroup, _ *api.Task) { j.Meta = map[string]string{"k": "v"} }, Destructive},
		"logs disabled":      {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.LogConfig.Disabled = new(true) }, Destructive},
		"render on restart":  {func(_ *api.Job, g *api.TaskGroup, _ *api.Task) { g.RestartPolicy.RenderTemplates = new(true) }, Destructive},
		"task's identity":    {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.Identities = []*api.WorkloadIdentity{{Name: "x"}} }, Destructive},
		"config, as numbers": {func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.Config["n"] = float64(3) }, Ignore},
	} {
		before, after := newJob(), clone(t, newJob())
		c.change(after, after.TaskGroups[0], after.TaskGroups[0].Tasks[0])
		p := plan(before, after, running(3))
		if got := p.Groups[0].Kind; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if (p.Diff.Type == none) != (c.want == Ignore) {
			t.Errorf("%s: the diff is %s", name, p.Diff.Type)
		}
	}
}

// The order of tasks is a part of the job, and so is a block that is there twice.
func TestOrderAndRepetition(t *testing.T) {
	t.Parallel()
	before := newJob()
	g := before.TaskGroups[0]
	g.Tasks = append(g.Tasks, api.NewTask("u", "raw_exec"))
	g.Tasks[0].Services[0].Checks = []api.ServiceCheck{{Name: "c"}}
	before.Canonicalize()
	for name, change := range map[string]func(g *api.TaskGroup){
		"order": func(g *api.TaskGroup) { slices.Reverse(g.Tasks) },
		"twice": func(g *api.TaskGroup) {
			s := g.Tasks[0].Services[0]
			s.Checks = append(s.Checks, s.Checks[0])
		},
	} {
		after := clone(t, before)
		change(after.TaskGroups[0])
		p := plan(before, after, running(3))
		if got := p.Groups[0].Kind; got != InPlace || p.Diff.Type != edited || p.Diff.TaskGroups[0].Type != edited {
			t.Errorf("%s: %v, the diff is %s", name, got, p.Diff.Type)
		}
	}
}

// A group that is empty before or after a change forces nothing.
func TestEmptyGroups(t *testing.T) {
	t.Parallel()
	before := newJob()
	before.TaskGroups[0].Count = new(0)
	after := clone(t, before)
	after.TaskGroups[0].Name = new("a")
	p := plan(before, after, nil)
	if len(p.Groups) != 1 || p.Groups[0].Name != "a" || p.Annotations().DesiredTGUpdates["g"] != nil {
		t.Errorf("effects on %+v", p.Groups)
	}
	for _, d := range p.Diff.TaskGroups {
		if f := d.Fields[slices.IndexFunc(d.Fields, func(f *api.FieldDiff) bool { return f.Name == "Count" })]; len(f.Annotations) > 0 {
			t.Errorf("%s: %q", d.Name, f.Annotations)
		}
	}
}

// A change of meta that a task does not see is no change for it.
func TestHiddenMeta(t *testing.T) {
	t.Parallel()
	before := newJob()
	before.TaskGroups[0].Tasks[0].Meta = map[string]string{"k": "task"}
	after := clone(t, before)
	after.Meta = map[string]string{"k": "job"}
	if got := plan(before, after, running(3)).Groups[0].Kind; got != InPlace {
		t.Errorf("kind %v", got)
	}
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	env := func(j *api.Job) { j.TaskGroups[0].Tasks[0].Env["A"] = "2" }
	count := func(n int) func(*api.Job) { return func(j *api.Job) { j.TaskGroups[0].Count = &n } }
	for name, c := range map[string]struct {
		change  func(*api.Job)
		present []Place
		want    Group
	}{
		"nothing":     {func(*api.Job) {}, running(3), Group{Ignore: []int{0, 1, 2}}},
		"one is gone": {func(*api.Job) {}, running(2), Group{Ignore: []int{0, 1}, Place: []int{2}}},
		"up":          {count(5), running(3), Group{InPlace: []int{0, 1, 2}, Place: []int{3, 4}}},
		"down":        {count(1), running(3), Group{InPlace: []int{0}, Stop: []int{1, 2}}},
		"to nothing":  {count(0), running(3), Group{Stop: []int{0, 1, 2}}},
		"destructive": {env, running(3), Group{Replace: []int{0}, Ignore: []int{1, 2}}},
		"both":        {func(j *api.Job) { env(j); count(2)(j) }, running(3), Group{Replace: []int{0}, Ignore: []int{1}, Stop: []int{2}}},
		"two at once": {
			func(j *api.Job) { env(j); j.TaskGroups[0].Update.MaxParallel = new(2) }, running(3),
			Group{Replace: []int{0, 1}, Ignore: []int{2}},
		},
		"all at once": {
			func(j *api.Job) { env(j); j.TaskGroups[0].Update.MaxParallel = new(0) }, running(3),
			Group{Replace: []int{0, 1, 2}},
		},
		"canaries": {
			func(j *api.Job) { env(j); j.TaskGroups[0].Update.Canary = new(2) }, running(3),
			Group{Canary: []int{0, 1}, Ignore: []int{0, 1, 2}},
		},
		"no canary in place": {
			func(j *api.Job) { j.Priority = new(70); j.TaskGroups[0].Update.Canary = new(2) }, running(3),
			Group{InPlace: []int{0, 1, 2}},
		},
		"a canary more than there are": {
			func(j *api.Job) { env(j); j.TaskGroups[0].Update.Canary = new(4) }, running(3),
			Group{Canary: []int{0, 1, 2, 3}, Ignore: []int{0, 1, 2}},
		},
		"done":          {func(*api.Job) {}, []Place{over(0), running(2)[1], over(2)}, Group{Ignore: []int{0, 1, 2}}},
		"done, again":   {env, []Place{running(3)[2], over(0), over(1)}, Group{Ignore: []int{2}, Place: []int{0, 1}}},
		"failed, again": {env, []Place{running(3)[2], failed(0), failed(1)}, Group{Ignore: []int{1, 2}, Replace: []int{0}}},
		"failed, kept":  {func(j *api.Job) { j.Priority = new(70) }, []Place{running(3)[2], failed(0), failed(1)}, Group{Ignore: []int{0, 1}, InPlace: []int{2}}},
		"failed, due": {
			func(j *api.Job) { j.Priority = new(70) },
			[]Place{running(3)[2], {Group: "g", State: Due}, failed(1)},
			Group{Ignore: []int{1}, InPlace: []int{2}, Place: []int{0}},
		},
		"failed, down": {count(0), []Place{failed(0)}, Group{Stop: []int{0}}},
		"done, down":   {count(0), []Place{over(0)}, Group{}},
	} {
		after := clone(t, newJob())
		c.change(after)
		got := plan(newJob(), after, c.present).Groups[0]
		for what, lists := range map[string][2][]int{
			"ignore": {got.Ignore, c.want.Ignore}, "in place": {got.InPlace, c.want.InPlace}, "replace": {got.Replace, c.want.Replace},
			"place": {got.Place, c.want.Place}, "stop": {got.Stop, c.want.Stop},
			"canary": {got.Canary, c.want.Canary},
		} {
			if !slices.Equal(lists[0], lists[1]) {
				t.Errorf("%s: %s %v, want %v", name, what, lists[0], lists[1])
			}
		}
	}
}

// A new group is placed, a removed one is stopped.
func TestAddedAndRemovedGroups(t *testing.T) {
	t.Parallel()
	after := clone(t, newJob())
	after.TaskGroups[0].Name = new("h")
	p := plan(newJob(), after, running(3))
	if len(p.Groups) != 2 || p.Groups[1].Name != "h" || len(p.Groups[1].Place) != 3 || len(p.Groups[0].Stop) != 3 {
		t.Errorf("%+v", p.Groups)
	}
	if d := p.Diff.TaskGroups; d[1].Type != added || d[0].Type != deleted || d[0].Updates["destroy"] != 3 {
		t.Errorf("%+v %+v", d[0], d[1])
	}
	if p := New(nil, newJob(), nil, nil); p.Diff.Type != added || len(p.Groups[0].Place) != 3 {
		t.Errorf("a new job: %+v", p)
	}
}

// The diff has the form that Nomad's clients print.
func TestDiff(t *testing.T) {
	t.Parallel()
	after := clone(t, newJob())
	after.TaskGroups[0].Count = new(2)
	after.TaskGroups[0].Tasks[0].Env = map[string]string{"B": "1"}
	d := plan(newJob(), after, running(3)).Diff.TaskGroups[0]
	if f := d.Fields; len(f) != 1 || f[0].Name != "Count" || f[0].Old != "3" || f[0].New != "2" || f[0].Annotations[0] != "forces destroy" {
		t.Errorf("group %+v", f)
	}
	task := d.Tasks[0]
	if task.Annotations[0] != "forces create/destroy update" || len(task.Fields) != 2 ||
		task.Fields[0].Name != "Env[A]" || task.Fields[0].Type != deleted || task.Fields[1].Name != "Env[B]" || task.Fields[1].Type != added {
		t.Errorf("task %+v", task)
	}
	patient := clone(t, newJob())
	patient.TaskGroups[0].Tasks[0].KillTimeout = new(time.Minute)
	if task := plan(newJob(), patient, running(3)).Diff.TaskGroups[0].Tasks[0]; len(task.Annotations) != 1 || task.Annotations[0] != "forces in-place update" {
		t.Errorf("a longer kill_timeout: %+v", task)
	}
	if d := Diff(newJob(), after).TaskGroups[0]; d.Fields[0].Annotations != nil || d.Tasks[0].Annotations != nil {
		t.Errorf("versions, which change nothing: %+v", d)
	}
}

// Blocks with a name or a label are compared by it, whatever their order.
func TestOrderIsNoChange(t *testing.T) {
	t.Parallel()
	before := newJob()
	g := before.TaskGroups[0]
	second := *g.Tasks[0]
	second.Name, second.Services = "second", []*api.Service{{Name: "other", PortLabel: "admin"}, {Name: "third", PortLabel: "http"}}
	g.Tasks = append(g.Tasks, &second)
	g.Networks[0].DynamicPorts = append(g.Networks[0].DynamicPorts, api.Port{Label: "admin", To: 8080})
	after := clone(t, before)
	changed := after.TaskGroups[0]
	slices.Reverse(changed.Tasks[1].Services)
	slices.Reverse(changed.Networks[0].DynamicPorts)
	if d := changes(groupValues(g), groupValues(changed)); len(d) > 0 {
		t.Errorf("networks in another order are a change: %v", d)
	}
	for i, task := range g.Tasks {
		if d := changes(valuesOf(task), valuesOf(changed.Tasks[i])); len(d) > 0 {
			t.Errorf("services of %s in another order are a change: %v", task.Name, d)
		}
	}
	changed.Networks[0].DynamicPorts[0].To = 9090
	if d := changes(groupValues(g), groupValues(changed)); len(d) != 1 || !strings.HasSuffix(d[0], "DynamicPorts[admin].To") {
		t.Errorf("a port was changed: %v", d)
	}
}

// Defaults that a registration adds are no change to a job that an earlier taskrun
// has stored without them.
func TestDefaultsAreNoChange(t *testing.T) {
	t.Parallel()
	after := clone(t, newJob())
	g := after.TaskGroups[0]
	g.PreventRescheduleOnLost, g.Networks[0].DynamicPorts[0].HostNetwork = new(false), "default"
	r := g.Tasks[0].Resources
	r.DiskMB, r.IOPS, r.MemoryMaxMB, r.SecretsMB = new(0), new(0), new(0), new(0)
	g.Tasks[0].Identity = &api.WorkloadIdentity{Name: "default", Audience: []string{"nomadproject.io"}}
	if !Same(newJob(), after) {
		t.Errorf("%+v", Diff(newJob(), after).TaskGroups[0])
	}
	r.MemoryMaxMB = new(512)
	if p := plan(newJob(), after, running(3)); p.Groups[0].Kind != Destructive {
		t.Errorf("memory_max is %v", p.Groups[0].Kind)
	}
}
