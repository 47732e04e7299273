package runner

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"time"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
)

func newTaskHooks(t *taskRun) taskHooks {
	info := hooks.Task{
		Alloc:    t.alloc.cfg.Alloc,
		Job:      t.alloc.cfg.Job,
		Group:    t.alloc.cfg.Group,
		Task:     t.spec(),
		AllocDir: t.alloc.cfg.Dir,
		Dir:      t.alloc.dir,
		Driver:   t.driver.Capabilities(),
		Chance:   t.alloc.cfg.Chance,
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
	return taskHooks{task: t, list: list}
}

// prestart calls the hooks that precede a start, until one fails.
func (hs *taskHooks) prestart() *startFailure {
	t := hs.task
	for _, h := range hs.list {
		pre, ok := h.TaskHook.(hooks.TaskPrestart)
		if !ok || h.Done {
			continue
		}
		req := hooks.PrestartRequest{
			State:      maps.Clone(h.State),
			Task:       t.spec(),
			Resources:  t.granted(),
			TaskDir:    filepath.Join(t.alloc.cfg.Dir, t.name),
			VaultToken: hs.vault,
			Env:        t.env.snapshot(),
			Recovered:  t.recovering,
		}
		var resp hooks.PrestartResponse
		ctx := t.killed
		if t.recovering { // the hook watches the task until its end, even if it is killed
			ctx = context.WithoutCancel(ctx)
		}
		if err := h.call(t.killed, func() error { return pre.Prestart(ctx, &req, &resp) }); err != nil {
			if t.isKilled() && !errors.Is(err, errGivenUp) {
				return failed(err, nil)
			}
			return failed(err, hookFailure(h, err))
		}
		hs.take(h, &resp)
	}
	return nil
}

// take stores a hook's response for the task.
func (hs *taskHooks) take(h *taskHook, resp *hooks.PrestartResponse) {
	t, before := hs.task, h.gifts
	h.Done, h.State, h.Env = resp.Done, resp.State, resp.Env
	if len(resp.Mounts) > 0 {
		h.Mounts = resp.Mounts
	}
	if len(resp.Devices) > 0 {
		h.Devices = resp.Devices
	}
	if len(h.Env) > 0 || len(before.Env) > 0 {
		hs.task.env.change().SetHookEnv(h.Name(), h.Env)
	}
	if len(resp.Secrets) > 0 {
		h.Secrets = resp.Secrets
		t.env.change().SetSecrets(h.Secrets)
	}
	if resp.View != nil {
		t.env.change().View = resp.View
	}
	tokens := hs.addTokens(resp.VaultToken, resp.IdentityTokens)
	if resp.Output != nil {
		t.output = resp.Output
	}
	if t.alloc.recorder.Durable() && (tokens || !reflect.DeepEqual(before, h.gifts)) {
		hs.save()
	}
}

// addTokens adds tokens to the environment. It reports whether any of them were
// new.
func (hs *taskHooks) addTokens(vault string, identities map[string]string) (added bool) {
	if vault != "" && vault != hs.vault {
		hs.vault, added = vault, true
		if v := hs.task.spec().Vault; v != nil && v.Env != nil && *v.Env {
			b := hs.task.env.change()
			b.VaultToken, b.VaultNamespace = hs.vault, *v.Namespace
		}
	}
	for name, token := range identities {
		if hs.identities == nil {
			hs.identities = map[string]string{}
		}
		added = added || hs.identities[name] != token
		hs.identities[name] = token
		hs.task.env.change().SetIdentityToken(name, token)
	}
	return added
}

func (hs *taskHooks) save() {
	record := hooksRecord{Hooks: map[string]gifts{}, VaultToken: hs.vault, Identities: maps.Clone(hs.identities)}
	for _, h := range hs.list {
		if !reflect.DeepEqual(h.gifts, gifts{}) {
			record.Hooks[h.Name()] = h.gifts
		}
	}
	hs.task.save(func() { hs.task.put(hooksKey, record) })
}

// restore gives the task the recorded results of its hooks.
func (hs *taskHooks) restore(r hooksRecord) {
	for _, h := range hs.list {
		if h.gifts = r.Hooks[h.Name()]; len(h.Env) > 0 {
			hs.task.env.change().SetHookEnv(h.Name(), h.Env)
		}
		if len(h.Secrets) > 0 {
			hs.task.env.change().SetSecrets(h.Secrets)
		}
	}
	hs.addTokens(r.VaultToken, r.Identities)
}

func (hs *taskHooks) poststart() {
	t := hs.task
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
	each(hs, func(h hooks.TaskPoststart) func() error {
		own := req // a hook that is given up keeps its copy
		own.Env = t.env.snapshot()
		return func() error { return h.Poststart(t.killed, &own) }
	})
}

func (hs *taskHooks) prekill() {
	each(hs, func(h hooks.TaskPrekill) func() error {
		return func() error { return h.Prekill(context.WithoutCancel(hs.task.killed)) }
	})
}

func (hs *taskHooks) exited() {
	each(hs, func(h hooks.TaskExited) func() error {
		return func() error { return h.Exited(hs.task.killed) }
	})
}

func (hs *taskHooks) stop() {
	each(hs, func(h hooks.TaskStop) func() error {
		return func() error { return h.Stop(context.WithoutCancel(hs.task.killed)) }
	})
}

// update passes a new version of the job to the hooks, unless the task is
// ending.
func (hs *taskHooks) update() {
	t := hs.task
	if t.isKilled() {
		return
	}
	spec := t.job.Load()
	each(hs, func(h hooks.TaskUpdate) func() error {
		return func() error {
			return h.Update(t.killed, &hooks.UpdateRequest{Job: spec.job, Group: spec.group, Task: spec.task})
		}
	})
}

func (hs *taskHooks) shutdown() {
	for _, h := range hs.list {
		if sd, ok := h.TaskHook.(hooks.TaskShutdown); ok {
			_ = h.call(hs.task.killed, func() error { sd.Shutdown(); return nil })
		}
	}
}

// each calls a phase of every hook that implements it. An error is published
// but does not stop the task. prepare runs on the caller's goroutine.
func each[H any](hs *taskHooks, prepare func(H) func() error) {
	for _, h := range hs.list {
		if phase, ok := h.TaskHook.(H); ok {
			if err := h.call(hs.task.killed, prepare(phase)); err != nil {
				hs.task.emit(hookFailure(h, err))
			}
		}
	}
}
