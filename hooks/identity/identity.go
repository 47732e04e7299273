// Package identity is the task hook that gives a task the tokens of its
// workload identities, as files and variables, and renews those that expire.
// The tokens have the form of Nomad's and say that they are local: there is no
// cluster that would accept them.
// See https://developer.hashicorp.com/nomad/docs/job-specification/identity.
package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/allocdir"
	"taskrun/engine/event"
	"taskrun/hooks"
)

type hook struct {
	task       hooks.Task
	identities []*api.WorkloadIdentity // that the task can see
	owner      *allocdir.Owner
	region     string

	mu       sync.Mutex
	tokens   map[string]string // of env = true, by name
	cancel   context.CancelFunc
	renewing sync.WaitGroup
}

// New makes the hook of a task; nil when the task sees none of its identities.
func New(t hooks.Task) hooks.TaskHook {
	all := slices.Clone(t.Task.Identities)
	if t.Task.Identity != nil {
		all = append([]*api.WorkloadIdentity{t.Task.Identity}, all...)
	}
	all = slices.DeleteFunc(all, func(id *api.WorkloadIdentity) bool { return !id.Env && !id.File })
	if len(all) == 0 {
		return nil
	}
	return &hook{task: t, identities: all, tokens: map[string]string{}, cancel: func() {}}
}

func (h *hook) Name() string { return "identity" }

func isDefault(id *api.WorkloadIdentity) bool { return id.Name == "" || id.Name == "default" }

func nameOf(id *api.WorkloadIdentity) string { return cmp.Or(id.Name, "default") }

// Prestart gives the tokens, before the first start new ones.
func (h *hook) Prestart(ctx context.Context, req *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	if h.region == "" {
		if err := h.begin(ctx, req); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	resp.IdentityTokens = make(map[string]string, len(h.tokens))
	for name, token := range h.tokens {
		resp.IdentityTokens[name] = token
	}
	return nil
}

func (h *hook) begin(ctx context.Context, req *hooks.PrestartRequest) (err error) {
	region, _ := req.Env.Lookup("NOMAD_REGION")
	h.region = cmp.Or(region, "global")
	if h.owner, err = allocdir.OwnerOf(h.task.Task.User); err != nil {
		return err
	}
	ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, id := range h.identities {
		if err := h.issue(id, time.Now()); err != nil {
			return fmt.Errorf("identity %q: %w", nameOf(id), err)
		}
		if id.TTL > 0 {
			h.renewing.Go(func() { h.renew(ctx, id) })
		}
	}
	return nil
}

// issue makes a new token and puts it where the task finds it.
func (h *hook) issue(id *api.WorkloadIdentity, now time.Time) error {
	text, err := token(h.task, id, h.region, now)
	if err != nil {
		return err
	}
	if id.Env {
		name := id.Name
		if isDefault(id) {
			name = ""
		}
		h.mu.Lock()
		h.tokens[name] = text
		h.mu.Unlock()
	}
	if !id.File {
		return nil
	}
	file := filepath.Join("secrets", "nomad_"+id.Name+".jwt")
	if isDefault(id) {
		file = filepath.Join("secrets", "nomad_token")
	}
	return allocdir.WriteSecret(h.task.AllocDir, h.task.Task.Name, cmp.Or(id.Filepath, file), []byte(text), h.owner)
}

// renew replaces a token when half of its time is over, and has the task know.
func (h *hook) renew(ctx context.Context, id *api.WorkloadIdentity) {
	ticker := time.NewTicker(max(id.TTL/2, time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if err := h.issue(id, now); err != nil {
				h.task.Emit(event.HookFailed(h.Name(), fmt.Errorf("cannot renew identity %q: %w", nameOf(id), err)))
				continue
			}
			h.tell(ctx, id)
		}
	}
}

func (h *hook) tell(ctx context.Context, id *api.WorkloadIdentity) {
	name := nameOf(id)
	switch id.ChangeMode {
	case "restart":
		_ = h.task.Control.Restart(ctx, event.IdentityRestart(name)) // a task that does not run starts with the new one
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

// Shutdown does the same while the task goes on.
func (h *hook) Shutdown() {
	h.cancel()
	h.renewing.Wait()
}
