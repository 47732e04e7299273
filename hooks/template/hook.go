// Package template is the task hook that renders a task's template blocks, and
// renders them again when their input has changed. See
// https://developer.hashicorp.com/nomad/docs/job-specification/template.
//
// The language and its functions come from consul-template, the library that
// Nomad uses. This package does not use the library's clients of Consul, Vault
// and Nomad, which would read addresses and tokens from the shell, or its
// runner. A template names its dependencies, and this package answers them from
// the stubs and the services that run here, without a connection, a port, or a
// goroutine for each. So a template can never reach a real cluster.
//
// One goroutine follows the templates of a task, if their input can change. It
// runs from the first start of the task until the task has ended for good;
// restarts do not render again, unless the task's restart block says so.
//
// Files are read and written through an os.Root of the allocation directory,
// which no link leaves.
package template

import (
	"context"

	"taskrun/hooks"
)

type hook struct {
	task hooks.Task
	cfg  Config
	m    *manager // nil before the first start
	// recovered is true if an earlier engine may have started the task.
	recovered bool
}

// New returns a factory of hooks. Tasks without templates get none.
func New(cfg Config) hooks.TaskFactory {
	cfg.authority = &authority{}
	return func(t hooks.Task) hooks.TaskHook {
		if len(t.Task.Templates) == 0 {
			return nil
		}
		return &hook{task: t, cfg: cfg}
	}
}

func (h *hook) Name() string { return "template" }

// Prestart renders all templates before the first start or, with
// render_templates in the restart block, before every start. It waits for their
// dependencies.
func (h *hook) Prestart(ctx context.Context, req *hooks.PrestartRequest, _ *hooks.PrestartResponse) error {
	lost := h.recovered && !req.Recovered // the task was not running, and starts again
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

// Poststart runs the change scripts of the first rendering.
func (h *hook) Poststart(ctx context.Context, req *hooks.PoststartRequest) error {
	h.recovered = false
	if h.m != nil {
		h.m.started(ctx, req.Exec)
	}
	return nil
}

// Stop stops following the templates.
func (h *hook) Stop(context.Context) error {
	h.stop()
	return nil
}

// Shutdown also stops following, and leaves the task running.
func (h *hook) Shutdown() { h.stop() }

func (h *hook) stop() {
	if h.m != nil {
		h.m.end()
	}
}
