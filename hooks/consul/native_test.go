package consul

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// The task of a native service gets Consul's address as it sees it. Its own
// variables are kept.
func TestNative(t *testing.T) {
	t.Parallel()
	service := func(task string, native bool) []*api.Service {
		return []*api.Service{{Name: "s", TaskName: task, Connect: &api.ConsulConnect{Native: native}}}
	}
	both := map[string]string{"CONSUL_HTTP_ADDR": "127.0.0.1:8500", "CONSUL_HTTP_TOKEN": "the token"}
	moved := func(taskenv.Endpoint) taskenv.Endpoint { return taskenv.Endpoint{Host: "172.17.0.1", Port: 48500} }
	for name, c := range map[string]struct {
		services []*api.Service
		tasks    int
		env      map[string]string
		view     taskenv.View
		want     map[string]string // nil: no hook
	}{
		"none":          {nil, 1, nil, nil, nil},
		"a sidecar":     {service("", false), 1, nil, nil, nil},
		"the only task": {service("", true), 1, nil, nil, both},
		"by name":       {service("t", true), 2, nil, nil, both},
		"another":       {service("other", true), 2, nil, nil, nil},
		"its own":       {service("t", true), 1, map[string]string{"CONSUL_HTTP_ADDR": "x", "CONSUL_HTTP_TOKEN": ""}, nil, map[string]string{}},
		"a container":   {service("t", true), 1, nil, moved, map[string]string{"CONSUL_HTTP_ADDR": "172.17.0.1:48500", "CONSUL_HTTP_TOKEN": "the token"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := &api.Task{Name: "t", Env: c.env}
			g := &api.TaskGroup{Services: c.services, Tasks: make([]*api.Task, c.tasks)}
			g.Tasks[0] = task
			h := NewNative(token, func(hooks.Task) taskenv.View { return c.view })(hooks.Task{Group: g, Task: task})
			if (h != nil) != (c.want != nil) {
				t.Fatalf("the hook is %v", h)
			}
			if h == nil {
				return
			}
			var resp hooks.PrestartResponse
			if err := h.(hooks.TaskPrestart).Prestart(t.Context(), &hooks.PrestartRequest{Task: task}, &resp); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, resp.Env); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
		})
	}
}
