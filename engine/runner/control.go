package runner

import (
	"context"

	"github.com/hashicorp/nomad/api"
)

// control is what a hook may order its task to do; see hooks.Control.
type control struct{ t *task }

func (c control) Restart(ctx context.Context, why *api.TaskEvent) error {
	req := newRestart(why, false)
	close(req.begin)
	c.t.inlet.offer(req)
	return req.await(ctx, c.t.alloc.over)
}

func (c control) Signal(why *api.TaskEvent, signal string) error { return c.t.signal(why, signal) }

func (c control) Fail(why *api.TaskEvent) {
	c.t.alloc.post(func() {
		c.t.failed = true
		c.t.apply("", why)
	})
	c.t.cancel()
}

func (c control) SetTemplateEnv(env map[string]string) { c.t.env.templates.Store(&env) }
