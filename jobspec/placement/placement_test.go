package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

var node = &taskenv.Node{
	Class: "big", Datacenter: "dc1", Pool: "default",
	Attributes: map[string]string{
		"kernel.name": "linux", "cpu.numcores": "8", "kernel.version": "6.1.0-13-amd64",
		"os.signals": "SIGINT,SIGTERM", "nomad.version": "2.0.6", "load": "0.5",
	},
	Meta: map[string]string{"rack": "r10"},
}

func TestConstraints(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		left, operand, right string
		want                 bool
	}{
		{"${attr.kernel.name}", "=", "linux", true},
		{"${attr.kernel.name}", "", "linux", true},
		{"${attr.kernel.name}", "is", "darwin", false},
		{"${attr.kernel.name}", "!=", "darwin", true},
		{"${attr.kernel.name}", "not", "linux", false},
		{"${attr.no.such}", "!=", "linux", true},
		{"${attr.no.such}", "=", "linux", false},
		{"${attr.no.such}", "=", "${attr.none}", false},
		{"linux", "=", "${attr.kernel.name}", true},
		{"${node.class}", "=", "big", true},
		{"${node.pool}", "==", "default", true},
		{"${meta.rack}", "regexp", "^r[0-9]+$", true},
		{"${meta.rack}", "regexp", "^s", false},
		{"${attr.cpu.numcores}", ">", "4", true},
		{"${attr.cpu.numcores}", "<", "10", true}, // as numbers, not as text
		{"${attr.cpu.numcores}", "<=", "8", true},
		{"${attr.cpu.numcores}", ">=", "8.5", false},
		{"${attr.load}", "<", "0.75", true},
		{"${attr.kernel.name}", ">", "darwin", true},
		{"${attr.no.such}", ">", "1", false},
		{"${attr.nomad.version}", "version", ">= 1.0, < 3", true},
		{"${attr.nomad.version}", "semver", "> 2.1", false},
		{"${attr.kernel.name}", "version", "> 1", false},
		{"${attr.os.signals}", "set_contains", "SIGTERM", true},
		{"${attr.os.signals}", "set_contains", "SIGTERM, SIGINT", true},
		{"${attr.os.signals}", "set_contains_all", "SIGTERM,SIGHUP", false},
		{"${attr.os.signals}", "set_contains_any", "SIGTERM,SIGHUP", true},
		{"${attr.kernel.name}", "is_set", "", true},
		{"${attr.no.such}", "is_set", "", false},
		{"${attr.no.such}", "is_not_set", "", true},
		{"", "distinct_hosts", "true", true},
		{"${meta.rack}", "distinct_property", "2", true},
	} {
		c := &api.Constraint{LTarget: tt.left, Operand: tt.operand, RTarget: tt.right}
		if got := failure(c, node); (got == "") != tt.want {
			t.Errorf("%s %s %s: failure %q", tt.left, tt.operand, tt.right, got)
		}
	}
}

// A failure names what the node lacks in the words of the job file, and what it
// has.
func TestFailuresInWords(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]api.Constraint{
		`it has neither "${attr.a}" nor "${attr.b}"`: {LTarget: "${attr.a}", Operand: "=", RTarget: "${attr.b}"},
		`it has no "${attr.a}"`:                      {LTarget: "${attr.a}", Operand: "=", RTarget: "linux"},
		`it has no "${attr.b}"`:                      {LTarget: "linux", Operand: "=", RTarget: "${attr.b}"},
		`"${attr.kernel.name}" is "linux" here`:      {LTarget: "${attr.kernel.name}", Operand: "=", RTarget: "darwin"},
		`"${meta.rack}" is "r10" here`:               {LTarget: "r11", Operand: "=", RTarget: "${meta.rack}"},
		"":                                           {LTarget: "linux", Operand: "=", RTarget: "${attr.kernel.name}"},
	} {
		if got := failure(&c, node); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}

func TestCheckPaths(t *testing.T) {
	t.Parallel()
	bad := api.NewConstraint("${attr.kernel.name}", "=", "darwin")
	good := api.NewConstraint("${attr.kernel.name}", "=", "linux")
	g := api.NewTaskGroup("g", 1)
	task := api.NewTask("t", "raw_exec")
	task.Constraints = []*api.Constraint{api.NewConstraint("${attr.gpu}", "is_set", "")}
	g.Tasks = []*api.Task{task}
	g.Constraints = []*api.Constraint{bad}
	job := &api.Job{Constraints: []*api.Constraint{good, bad}, TaskGroups: []*api.TaskGroup{g}}
	var got []string
	for _, p := range Check(job, node) {
		if p.Severity != jobspec.Warning {
			t.Errorf("%s is an error", p.Path)
		}
		got = append(got, string(p.Path)+" "+p.Summary+": "+p.Detail)
	}
	want := []string{
		`job.constraint[1] this machine fails the constraint "${attr.kernel.name}" = "darwin": "${attr.kernel.name}" is "linux" here`,
		`job.group[0].constraint[0] this machine fails the constraint "${attr.kernel.name}" = "darwin": "${attr.kernel.name}" is "linux" here`,
		`job.group[0].task[0].constraint[0] this machine fails the constraint "${attr.gpu}" is_set: it has no "${attr.gpu}"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStaticPorts(t *testing.T) {
	t.Parallel()
	job := func(id, kind string, count int, own int, ports ...api.Port) *api.Job {
		return &api.Job{ID: &id, Type: &kind, TaskGroups: []*api.TaskGroup{{
			Name: new("g"), Count: &count,
			Networks: []*api.NetworkResource{{ReservedPorts: ports}, {ReservedPorts: []api.Port{{Label: "ignored", Value: 1}}}},
			Tasks: []*api.Task{{Name: "t", Resources: &api.Resources{Networks: []*api.NetworkResource{
				{ReservedPorts: []api.Port{{Label: "own", Value: own}}},
			}}}},
		}}}
	}
	var s StaticPorts
	var got []string
	for _, j := range []*api.Job{
		job("a", "service", 1, 2, api.Port{Label: "x", Value: 80}, api.Port{Label: "shared", Value: 90, IgnoreCollision: true}),
		job("b", "service", 1, 1, api.Port{Label: "y", Value: 80}, api.Port{Label: "shared", Value: 90, IgnoreCollision: true}),
		job("c", "service", 2, 3, api.Port{Label: "x", Value: 81}),
		job("d", "system", 2, 4, api.Port{Label: "x", Value: 82}),
		job("e", "batch", 1, 80),
	} {
		for _, p := range s.Check(j) {
			got = append(got, *j.ID+" "+p.Severity.String()+" "+string(p.Path)+": "+p.Summary+"; "+p.Detail)
		}
	}
	const at, in = `job.group[0].network[0].port["`, `job.group[0].task[0].resources.network[0].port["`
	want := []string{
		`b error ` + at + `y"].static: static port 80 is asked for twice; port "x" of group "g" of job "a" has it`,
		`c error ` + at + `x"].static: 2 allocations cannot all have static port 81; on a cluster each would need a node of its own`,
		`c error ` + in + `own"].static: 2 allocations cannot all have static port 3; on a cluster each would need a node of its own`,
		`e error ` + in + `own"].static: static port 80 is asked for twice; port "x" of group "g" of job "a" has it`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownTargetsNeedAStub(t *testing.T) {
	t.Parallel()
	g := api.NewTaskGroup("g", 1)
	g.Constraints = []*api.Constraint{
		api.NewConstraint("${meta.row}", "=", "1"),
		api.NewConstraint("${attr.gpu}", "is_set", ""),
		api.NewConstraint("${meta.rack}", "=", "r11"),  // known, but different
		api.NewConstraint("${meta.none}", "!=", "r11"), // passes
		api.NewConstraint("${meta.rack}", "=", "${NOMAD_META_rack}"),
	}
	var got []string
	for _, p := range Unknown(&api.Job{TaskGroups: []*api.TaskGroup{g}}, node) {
		if p.Severity != jobspec.Error {
			t.Errorf("%s is no error", p.Path)
		}
		got = append(got, string(p.Path)+" "+p.Detail+p.Remedy)
	}
	want := []string{
		`job.group[0].constraint[0] add to taskrun.hcl: node { meta = { "row" = "…" } }`,
		`job.group[0].constraint[1] add to taskrun.hcl: node { attributes = { "gpu" = "…" } }`,
		`job.group[0].constraint[4] constraints can use ${node…}, ${attr…} and ${meta…}: no cluster would place the job`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
