package runner

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/event"
	"taskrun/hooks"
)

// taskHook is a hook and what it left behind in earlier calls.
type taskHook struct {
	hooks.TaskHook
	done    bool
	state   map[string]string
	gave    bool // variables
	mounts  []drivers.Mount
	devices []drivers.Device
}

func (t *task) newHooks() []*taskHook {
	info := hooks.Task{
		Alloc:    t.alloc.cfg.Alloc,
		Job:      t.alloc.cfg.Job,
		Group:    t.alloc.cfg.Group,
		Task:     t.spec(),
		AllocDir: t.alloc.cfg.Dir,
		Driver:   t.driver.Capabilities(),
		Emit:     t.emit,
		Publish:  func(at time.Time, body event.Body) { t.alloc.publishNow(at, t.name, body) },
		Control:  control{t},
	}
	var list []*taskHook
	for _, factory := range t.alloc.cfg.Hooks.Task {
		if h := factory(info); h != nil {
			list = append(list, &taskHook{TaskHook: h})
		}
	}
	return list
}

// prestart calls the hooks before a start, until one fails.
func (t *task) prestart() *startFailure {
	for _, h := range t.hooks {
		pre, ok := h.TaskHook.(hooks.TaskPrestart)
		if !ok || h.done {
			continue
		}
		req := hooks.PrestartRequest{
			State:      maps.Clone(h.state),
			Task:       t.spec(),
			Resources:  resources(t.spec().Resources),
			TaskDir:    filepath.Join(t.alloc.cfg.Dir, t.name),
			VaultToken: t.vault,
			Env:        t.snapshot(),
		}
		var resp hooks.PrestartResponse
		if err := pre.Prestart(t.killed, &req, &resp); err != nil {
			if t.isKilled() {
				return failed(err, nil)
			}
			return failed(err, hookFailure(h, err))
		}
		t.take(h, &resp)
	}
	return nil
}

// take keeps what a hook gave the task.
func (t *task) take(h *taskHook, resp *hooks.PrestartResponse) {
	h.done, h.state = resp.Done, resp.State
	if len(resp.Mounts) > 0 {
		h.mounts = resp.Mounts
	}
	if len(resp.Devices) > 0 {
		h.devices = resp.Devices
	}
	if len(resp.Env) > 0 || h.gave {
		h.gave = len(resp.Env) > 0
		if len(h.devices) > 0 {
			t.env.SetDeviceEnv(h.Name(), resp.Env)
		} else {
			t.env.SetHookEnv(h.Name(), resp.Env)
		}
		t.built = nil
	}
	if resp.VaultToken != "" && resp.VaultToken != t.vault {
		t.vault = resp.VaultToken
		if v := t.spec().Vault; v != nil && v.Env != nil && *v.Env {
			t.env.SetVaultToken(t.vault, *v.Namespace)
			t.built = nil
		}
	}
	for name, token := range resp.IdentityTokens {
		t.env.SetIdentityToken(name, token)
		t.built = nil
	}
	if len(resp.Secrets) > 0 {
		t.env.SetSecrets(resp.Secrets)
		t.built = nil
	}
	if resp.Output != nil {
		t.output = resp.Output
	}
}

func (t *task) poststart() {
	req := hooks.PoststartRequest{Network: t.network}
	id := t.id
	if drivers.CanCapture(t.driver) {
		req.Exec = func(ctx context.Context, cmd []string) (*drivers.ExecTaskResult, error) {
			return drivers.Capture(ctx, t.driver, id, cmd)
		}
	}
	if d, ok := t.driver.(drivers.StatsCollector); ok {
		req.Stats = func(ctx context.Context, interval time.Duration) (<-chan *drivers.TaskResourceUsage, error) {
			return d.TaskStats(ctx, id, interval)
		}
	}
	for _, h := range t.hooks {
		if post, ok := h.TaskHook.(hooks.TaskPoststart); ok {
			req.Env = t.snapshot()
			t.called(h, post.Poststart(t.killed, &req))
		}
	}
}

func (t *task) prekill() {
	for _, h := range t.hooks {
		if pre, ok := h.TaskHook.(hooks.TaskPrekill); ok {
			t.called(h, pre.Prekill(context.WithoutCancel(t.killed)))
		}
	}
}

func (t *task) exited() {
	for _, h := range t.hooks {
		if ex, ok := h.TaskHook.(hooks.TaskExited); ok {
			t.called(h, ex.Exited(t.killed))
		}
	}
}

func (t *task) stopHooks() {
	for _, h := range t.hooks {
		if st, ok := h.TaskHook.(hooks.TaskStop); ok {
			t.called(h, st.Stop(context.WithoutCancel(t.killed)))
		}
	}
}

func (t *task) shutdownHooks() {
	for _, h := range t.hooks {
		if sd, ok := h.TaskHook.(hooks.TaskShutdown); ok {
			sd.Shutdown()
		}
	}
}

// called shows the error of a hook that cannot keep the task from going on.
func (t *task) called(h *taskHook, err error) {
	if err != nil {
		t.report("", hookFailure(h, err))
	}
}

// hookFailure is the event that tells of the error of a hook.
func hookFailure(h *taskHook, err error) *api.TaskEvent {
	if own, ok := errors.AsType[*hooks.EventError](err); ok {
		return own.Event
	}
	return event.HookFailed(h.Name(), err)
}
