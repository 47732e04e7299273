// Package identity is the task hook that gives a task the tokens of its
// workload identities, as files and variables, and renews expiring ones when
// Nomad would. The tokens have Nomad's format, but no cluster accepts them. See
// https://developer.hashicorp.com/nomad/docs/job-specification/identity.
package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/workload"
	"taskrun/hooks"
)

// Hooks creates the hooks of an engine.
type Hooks struct {
	keys     *workload.Keyring
	renewals renewals
}

type hook struct {
	hooks      *Hooks
	task       hooks.Task
	identities []*api.WorkloadIdentity // visible to the task
	owner      *allocdir.Owner
	region     string

	mu       sync.Mutex
	tokens   map[string]string // by name
	cancel   context.CancelFunc
	renewing sync.WaitGroup
}

// New returns hooks that sign tokens with keys.
func New(keys *workload.Keyring) *Hooks {
	return &Hooks{keys: keys, renewals: renewals{allocs: map[string]*renewal{}}}
}

// Task creates the hook of a task, or returns nil if the task can see none of
// its identities. It is a hooks.TaskFactory.
func (h *Hooks) Task(t hooks.Task) hooks.TaskHook {
	all := identities(t.Task)
	all = slices.DeleteFunc(all, func(id *api.WorkloadIdentity) bool { return !id.Env && !id.File })
	if len(all) == 0 {
		return nil
	}
	return &hook{hooks: h, task: t, identities: all, cancel: func() {}}
}

func (h *hook) Name() string { return "identity" }

// Prestart provides the tokens. Before the first start it creates new ones,
// unless an earlier engine has left valid ones.
func (h *hook) Prestart(ctx context.Context, req *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	if h.tokens == nil {
		if err := h.begin(ctx, req); err != nil {
			h.tokens = nil
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	resp.State = maps.Clone(h.tokens)
	resp.IdentityTokens = map[string]string{}
	for _, id := range h.identities {
		if !id.Env {
			continue
		}
		token, name := h.tokens[workload.Name(id)], workload.Name(id)
		if name == workload.DefaultName {
			name = ""
		}
		resp.IdentityTokens[name] = token
	}
	return nil
}

func (h *hook) begin(ctx context.Context, req *hooks.PrestartRequest) error {
	region, _ := req.Env.Lookup("NOMAD_REGION")
	h.region, h.tokens = cmp.Or(region, "global"), map[string]string{}
	h.owner = h.task.Owner()
	now := time.Now()
	oldest := now
	for _, id := range h.identities {
		if kept, err := h.hooks.keys.Verify(req.State[workload.Name(id)], now); err == nil {
			h.tokens[workload.Name(id)] = req.State[workload.Name(id)]
			if issued := kept.IssuedAt.Time(); issued.Before(oldest) {
				oldest = issued
			}
			continue
		}
		if err := h.issue(id, now); err != nil {
			return fmt.Errorf("identity %q: %w", workload.Name(id), err)
		}
	}
	ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, id := range h.identities {
		if id.TTL > 0 {
			renewed, leave := h.hooks.renewals.join(h.task, now.Sub(oldest))
			h.renewing.Go(func() {
				defer leave()
				h.renew(ctx, id, renewed)
			})
		}
	}
	return nil
}

// issue creates a new token and puts it where the task can see it.
func (h *hook) issue(id *api.WorkloadIdentity, now time.Time) error {
	t, name := h.task, workload.Name(id)
	holder := workload.Task{Region: h.region, Alloc: t.Alloc.ID, Group: *t.Group.Name, Name: t.Task.Name, Job: t.Job}
	token, err := h.hooks.keys.Sign(workload.NewClaims(holder, id, now))
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.tokens[name] = token
	h.mu.Unlock()
	if !id.File {
		return nil
	}
	file := filepath.Join("secrets", "nomad_"+name+".jwt")
	if name == workload.DefaultName {
		file = filepath.Join("secrets", "nomad_token")
	}
	return t.Dir.WriteToken(t.Task.Name, cmp.Or(id.Filepath, file), []byte(token), h.owner)
}

// renew replaces a token whenever it is due, and notifies the task.
func (h *hook) renew(ctx context.Context, id *api.WorkloadIdentity, due <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-due:
			if err := h.issue(id, time.Now()); err != nil {
				h.task.Emit(event.HookFailed(h.Name(), fmt.Errorf("cannot renew identity %q: %w", workload.Name(id), err)))
				continue
			}
			h.tell(ctx, id)
		}
	}
}

func (h *hook) tell(ctx context.Context, id *api.WorkloadIdentity) {
	name := workload.Name(id)
	switch id.ChangeMode {
	case "restart":
		_ = h.task.Control.Restart(ctx, event.IdentityRestart(name)) // a task that is not running starts with the new token
	case "signal":
		sig, err := drivers.ParseSignal(id.ChangeSignal)
		if err == nil {
			err = h.task.Control.Signal(event.IdentitySignal(name, sig.String()), id.ChangeSignal)
		}
		if err != nil && !errors.Is(err, hooks.ErrNotRunning) {
			h.task.Control.Fail(event.KillingFailed(fmt.Sprintf("Identity[%s]: failed to send signal: %v", name, err)))
		}
	}
}

// Stop ends the renewals.
func (h *hook) Stop(context.Context) error {
	h.Shutdown()
	return nil
}

// Shutdown also ends the renewals, and leaves the task running.
func (h *hook) Shutdown() {
	h.cancel()
	h.renewing.Wait()
}
