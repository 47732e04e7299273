package runner

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
)

// taskHook is a hook and what it left behind in earlier calls.
type taskHook struct {
	hooks.TaskHook
	gifts
	givenUp atomic.Bool // it has not returned
}

// gifts is what a hook has given its task, in the form in which it is stored.
type gifts struct {
	Done    bool              `json:"done,omitempty"`
	State   map[string]string `json:"state,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Mounts  []drivers.Mount   `json:"mounts,omitempty"`
	Devices []drivers.Device  `json:"devices,omitempty"`
	Secrets map[string]string `json:"secrets,omitempty"`
}

func (t *task) newHooks() []*taskHook {
	info := hooks.Task{
		Alloc:    t.alloc.cfg.Alloc,
		Job:      t.alloc.cfg.Job,
		Group:    t.alloc.cfg.Group,
		Task:     t.spec(),
		AllocDir: t.alloc.cfg.Dir,
		Dir:      t.alloc.dir,
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
		if !ok || h.Done {
			continue
		}
		req := hooks.PrestartRequest{
			State:      maps.Clone(h.State),
			Task:       t.spec(),
			Resources:  t.granted(),
			TaskDir:    filepath.Join(t.alloc.cfg.Dir, t.name),
			VaultToken: t.vault,
			Env:        t.snapshot(),
			Recovered:  t.recovering,
		}
		var resp hooks.PrestartResponse
		ctx := t.killed
		if t.recovering { // it is to be watched until its end, also when it is killed
			ctx = context.WithoutCancel(ctx)
		}
		if err := t.call(h, func() error { return pre.Prestart(ctx, &req, &resp) }); err != nil {
			if t.isKilled() && !errors.Is(err, errGivenUp) {
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
	before := h.gifts
	h.Done, h.State, h.Env = resp.Done, resp.State, resp.Env
	if len(resp.Mounts) > 0 {
		h.Mounts = resp.Mounts
	}
	if len(resp.Devices) > 0 {
		h.Devices = resp.Devices
	}
	if len(h.Env) > 0 || len(before.Env) > 0 {
		t.addEnv(h)
	}
	if len(resp.Secrets) > 0 {
		h.Secrets = resp.Secrets
		t.env.SetSecrets(h.Secrets)
		t.built = nil
	}
	tokens := t.addTokens(resp.VaultToken, resp.IdentityTokens)
	if resp.Output != nil {
		t.output = resp.Output
	}
	if t.alloc.recorder.Durable() && (tokens || !reflect.DeepEqual(before, h.gifts)) {
		t.saveHooks()
	}
}

// addEnv puts a hook's variables into the environment.
func (t *task) addEnv(h *taskHook) {
	if len(h.Devices) > 0 {
		t.env.SetDeviceEnv(h.Name(), h.Env)
	} else {
		t.env.SetHookEnv(h.Name(), h.Env)
	}
	t.built = nil
}

// addTokens puts tokens into the environment and reports whether there were
// new ones.
func (t *task) addTokens(vault string, identities map[string]string) (added bool) {
	if vault != "" && vault != t.vault {
		t.vault, added = vault, true
		if v := t.spec().Vault; v != nil && v.Env != nil && *v.Env {
			t.env.SetVaultToken(t.vault, *v.Namespace)
			t.built = nil
		}
	}
	for name, token := range identities {
		if t.identities == nil {
			t.identities = map[string]string{}
		}
		added = added || t.identities[name] != token
		t.identities[name] = token
		t.env.SetIdentityToken(name, token)
		t.built = nil
	}
	return added
}

func (t *task) saveHooks() {
	record := hooksRecord{Hooks: map[string]gifts{}, VaultToken: t.vault, Identities: maps.Clone(t.identities)}
	for _, h := range t.hooks {
		if !reflect.DeepEqual(h.gifts, gifts{}) {
			record.Hooks[h.Name()] = h.gifts
		}
	}
	t.save(func() { t.put(hooksKey, record) })
}

// restoreHooks gives the task again what its hooks gave it.
func (t *task) restoreHooks(r hooksRecord) {
	for _, h := range t.hooks {
		if h.gifts = r.Hooks[h.Name()]; len(h.Env) > 0 {
			t.addEnv(h)
		}
		if len(h.Secrets) > 0 {
			t.env.SetSecrets(h.Secrets)
		}
	}
	t.addTokens(r.VaultToken, r.Identities)
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
			own := req // which one that is given up keeps
			own.Env = t.snapshot()
			t.called(h, t.call(h, func() error { return post.Poststart(t.killed, &own) }))
		}
	}
}

func (t *task) prekill() {
	for _, h := range t.hooks {
		if pre, ok := h.TaskHook.(hooks.TaskPrekill); ok {
			t.called(h, t.call(h, func() error { return pre.Prekill(context.WithoutCancel(t.killed)) }))
		}
	}
}

func (t *task) exited() {
	for _, h := range t.hooks {
		if ex, ok := h.TaskHook.(hooks.TaskExited); ok {
			t.called(h, t.call(h, func() error { return ex.Exited(t.killed) }))
		}
	}
}

func (t *task) stopHooks() {
	for _, h := range t.hooks {
		if st, ok := h.TaskHook.(hooks.TaskStop); ok {
			t.called(h, t.call(h, func() error { return st.Stop(context.WithoutCancel(t.killed)) }))
		}
	}
}

func (t *task) shutdownHooks() {
	for _, h := range t.hooks {
		if sd, ok := h.TaskHook.(hooks.TaskShutdown); ok {
			_ = t.call(h, func() error { sd.Shutdown(); return nil })
		}
	}
}

// called shows the error of a hook that cannot keep the task from going on.
func (t *task) called(h *taskHook, err error) {
	if err != nil {
		t.emit(hookFailure(h, err))
	}
}

// hookFailure is the event that tells of the error of a hook.
func hookFailure(h *taskHook, err error) *api.TaskEvent {
	if own, ok := errors.AsType[*hooks.EventError](err); ok {
		return own.Event
	}
	return event.HookFailed(h.Name(), err)
}
