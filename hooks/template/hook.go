// Package template is the task hook that renders a task's template blocks, and
// renders them again when what they read has changed.
// See https://developer.hashicorp.com/nomad/docs/job-specification/template.
//
// The language and its functions are those of consul-template, the library
// that Nomad uses. What is not taken from it are its clients of Consul, Vault
// and Nomad, which would read addresses and tokens from the shell, and the
// runner around them: a template names what it needs (a dependency), and this
// package answers from the stubs and the services that run here, without a
// connection, a port, or a goroutine for each. So nothing that a template does
// can reach a real cluster.
//
// One goroutine follows the templates of a task, and only when there is
// something that could change. It lives from the first start of the task until
// the task has ended for good; restarts do not render again, unless the task's
// restart block says so.
//
// Files are read and written through os.Root on the directory of the
// allocation, which no link leads out of.
package template

import (
	"context"

	"taskrun/hooks"
)

type hook struct {
	task hooks.Task
	cfg  Config
	m    *manager // nil before the first start
	// recovered: the task runs since before this engine, if it does.
	recovered bool
}

// New makes the factory of hooks. A task without templates needs none.
func New(cfg Config) hooks.TaskFactory {
	return func(t hooks.Task) hooks.TaskHook {
		if len(t.Task.Templates) == 0 {
			return nil
		}
		return &hook{task: t, cfg: cfg}
	}
}

func (h *hook) Name() string { return "template" }

// Prestart renders all templates, before the first start or, when the restart
// block wants it, before every one. It waits for what they need.
func (h *hook) Prestart(ctx context.Context, req *hooks.PrestartRequest, _ *hooks.PrestartResponse) error {
	lost := h.recovered && !req.Recovered // it did not run, and starts again
	if h.m != nil && !h.rendersAgain() && !lost {
		return nil
	}
	h.stop()
	h.recovered = req.Recovered
	set, err := newSet(h.task, h.cfg, req.Env)
	if err != nil {
		return err
	}
	h.m = newManager(h.task, set)
	if req.Recovered && h.m.takeUp(ctx) {
		h.m.follow(ctx)
		return nil
	}
	h.m.begin(ctx)
	return nil
}

func (h *hook) rendersAgain() bool {
	r := h.task.Task.RestartPolicy
	return r != nil && r.RenderTemplates != nil && *r.RenderTemplates
}

// Poststart runs the scripts that want to be run after the first rendering.
func (h *hook) Poststart(ctx context.Context, req *hooks.PoststartRequest) error {
	h.recovered = false
	if h.m != nil {
		h.m.started(ctx, req.Exec)
	}
	return nil
}

// Stop ends the goroutine that follows the templates.
func (h *hook) Stop(context.Context) error {
	h.stop()
	return nil
}

// Shutdown does the same while the task goes on.
func (h *hook) Shutdown() { h.stop() }

func (h *hook) stop() {
	if h.m != nil {
		h.m.end()
	}
}
