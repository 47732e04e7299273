package consul

import (
	"context"
	"net"
	"slices"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// agent is where a Consul agent of this machine listens, unless it is configured
// otherwise; Nomad looks for it there, too.
var agent = taskenv.Endpoint{Host: "127.0.0.1", Port: 8500}

type native struct {
	token func() string
	view  taskenv.View
}

// NewNative returns a factory of hooks for the tasks of services with connect {
// native = true }, which find Consul themselves: a variable has the address at
// which an agent of this machine would listen, as the task sees it. See
// https://developer.hashicorp.com/nomad/docs/job-specification/connect#native.
func NewNative(token func() string, view func(hooks.Task) taskenv.View) hooks.TaskFactory {
	return func(t hooks.Task) hooks.TaskHook {
		if !isNative(t.Group, t.Task) {
			return nil
		}
		return &native{token, view(t)}
	}
}

// isNative reports whether a task is that of a service with connect native.
func isNative(g *api.TaskGroup, t *api.Task) bool {
	return slices.ContainsFunc(g.Services, func(s *api.Service) bool {
		return s.Connect != nil && s.Connect.Native && (s.TaskName == t.Name || s.TaskName == "" && len(g.Tasks) == 1)
	})
}

func (n *native) Name() string { return "connect_native" }

// Prestart provides the variables that the task does not have itself.
func (n *native) Prestart(_ context.Context, req *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	at := agent
	if n.view != nil {
		at = n.view(at)
	}
	resp.Env = map[string]string{"CONSUL_HTTP_ADDR": net.JoinHostPort(at.Host, strconv.Itoa(at.Port)), "CONSUL_HTTP_TOKEN": n.token()}
	for name := range resp.Env {
		if _, ok := req.Task.Env[name]; ok {
			delete(resp.Env, name)
		}
	}
	return nil
}
