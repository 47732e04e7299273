package template

import (
	"context"
	"time"

	"taskrun/hooks"
	"taskrun/jobspec/stub"
)

// patience is how long a template may wait for what no stub defines before it
// fails its task. The stubs file may come to define it meanwhile.
const patience = 10 * time.Second

// Config is what templates can ask beyond their task.
type Config struct {
	Stubs    Stubs
	Services Services // nil: none run here
}

// Stubs are local values in place of those of a cluster.
type Stubs interface {
	// Set returns the stubs as they are now, never nil.
	Set() *stub.Set
	// Changed returns a channel that is closed when Set returns others.
	Changed() <-chan struct{}
}

// Services knows the services that run here.
type Services interface {
	// Instances returns all of them, of every provider and namespace.
	Instances() []Instance
	// Changed returns a channel that is closed when Instances returns others.
	Changed() <-chan struct{}
}

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
	lost := h.recovered && !req.Recovered // it did not run, and starts anew
	if h.m != nil && !h.rendersAgain() && !lost {
		return nil
	}
	h.stop()
	h.recovered = req.Recovered
	set, err := newSet(h.task, h.cfg, req.Env)
	if err != nil {
		return err
	}
	h.m = newManager(h.task.Control, h.task.Emit, set)
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
