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

func TestCheckNamesEachPlace(t *testing.T) {
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
