package taskenv

import (
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// Possible includes every variable that a task has in a run.
func TestPossible(t *testing.T) {
	t.Parallel()
	task := api.NewTask("t", "raw_exec")
	task.Meta, task.Env = map[string]string{"my-key": "v"}, map[string]string{"OWN": "x"}
	task.Resources = &api.Resources{Networks: []*api.NetworkResource{nil, {ReservedPorts: []api.Port{{Label: "own"}}}}}
	group := api.NewTaskGroup("g", 1)
	group.Tasks = []*api.Task{task, api.NewTask("other", "raw_exec")}
	job := &api.Job{ID: new("j"), ParameterizedJob: &api.ParameterizedJobConfig{MetaOptional: []string{"sent"}}, TaskGroups: []*api.TaskGroup{group}}
	job.Canonicalize()
	for _, of := range []*api.Task{task, nil} {
		possible := Possible(job, group, of, []string{"http"})
		child := *job
		child.Dispatched = true
		b := NewBuilder(&Node{Datacenter: "dc1", Region: "global", CgroupParent: "x"}, AllocInfo{ID: "1", Name: "j.g[0]"}, &child, group, of).SetClientDir("/x")
		b.Ports, b.TaskPorts = []Port{{Label: "http", Value: 80}}, map[string][]Port{"t": {{Label: "own", HostIP: "127.0.0.1"}}}
		for name := range b.Build().Map() {
			if _, ok := possible[name]; !ok && (of != nil || !strings.HasSuffix(name, "_t_own")) {
				t.Errorf("%s is not possible", name)
			}
		}
		if _, ok := possible["NOMAD_TASK_NAME"]; ok == (of == nil) {
			t.Error("NOMAD_TASK_NAME is of tasks alone")
		}
	}
}

// The attributes of this machine are known names.
func TestAttributesOfThisMachineAreKnown(t *testing.T) {
	t.Parallel()
	node := Fingerprint()
	for name := range node.AllAttributes() {
		if NoNodeHas("attr." + name) {
			t.Errorf("%s is not known", name)
		}
	}
	for name, want := range map[string]bool{
		"node.class": false, "node.clas": true, "attr.cpu.archh": true, "attr.driver.x": false, "meta.x": false, "attr.kernel": true,
	} {
		if NoNodeHas(name) != want {
			t.Errorf("NoNodeHas(%s) is %t", name, !want)
		}
	}
	if names := strings.Join(NodeNames(), " "); !strings.Contains(names, "attr.os.name") || !strings.Contains(names, "node.unique.id") {
		t.Errorf("names: %s", names)
	}
}

// A task may have the tokens of its identities, the ports of its own networks, and
// the meta keys of a dispatch.
func TestPossibleOfATask(t *testing.T) {
	t.Parallel()
	task := &api.Task{
		Name: "t", Identities: []*api.WorkloadIdentity{nil, {Name: "vault", Env: true}},
		Resources: &api.Resources{Networks: []*api.NetworkResource{nil, {ReservedPorts: []api.Port{{Label: "own"}}, DynamicPorts: []api.Port{{Label: "free"}}}}},
		Identity:  &api.WorkloadIdentity{Env: true},
	}
	proxied := &api.ConsulConnect{SidecarService: &api.ConsulSidecarService{
		Proxy: &api.ConsulProxy{Upstreams: []*api.ConsulUpstream{{DestinationName: "db", LocalBindPort: 5432}}},
	}}
	g := &api.TaskGroup{Name: new("g"), Tasks: []*api.Task{task}, Services: []*api.Service{{Name: "s", Connect: proxied}}}
	job := &api.Job{ID: new("j"), Name: new("j"), ParameterizedJob: &api.ParameterizedJobConfig{MetaRequired: []string{"must"}, MetaOptional: []string{"may"}}, Meta: map[string]string{"set": "1"}}
	names := Possible(job, g, task, []string{"http"})
	for _, name := range []string{
		"NOMAD_META_must", "NOMAD_META_may", "NOMAD_META_set", "NOMAD_PORT_http", "NOMAD_PORT_own", "NOMAD_PORT_free", "NOMAD_TOKEN_vault",
		"NOMAD_JOB_PARENT_ID", "NOMAD_MEMORY_MAX_LIMIT", "NOMAD_TASK_DIR",
	} {
		if _, ok := names[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}
	for name := range names {
		if strings.HasPrefix(name, "NOMAD_UPSTREAM_") {
			t.Errorf("%s is that of an upstream", name)
		}
	}
	if len(g.Services) != 1 || len(job.Meta) != 1 {
		t.Error("the job has changed")
	}
	alloc := Possible(&api.Job{ID: new("j"), Name: new("j")}, g, nil, nil)
	for name, want := range map[string]bool{"NOMAD_JOB_PARENT_ID": true, "NOMAD_MEMORY_MAX_LIMIT": false, "NOMAD_PORT_own": false} {
		if _, ok := alloc[name]; ok != want {
			t.Errorf("of the allocation: %s: %t", name, ok)
		}
	}
}
