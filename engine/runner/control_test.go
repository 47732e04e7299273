package runner_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/engine/leaf/event"
	"taskrun/hooks"
)

// TestHookActsOnItsTask checks that a hook can signal, restart and fail its
// task and change its template variables, and is refused if the task is not
// running.
func TestHookActsOnItsTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		h := &recorder{name: "h", prestart: func(_ context.Context, req *hooks.PrestartRequest, r *hooks.PrestartResponse) error {
			seen = append(seen, req.Env.Map()["FROM_TEMPLATE"])
			r.IdentityTokens = map[string]string{"": "jwt"}
			return nil
		}}
		s := newSetting(t, mockTask(map[string]any{"run_for": "1h"}, 0), nil, h)
		done := make(chan struct{})
		go func() { defer close(done); s.alloc.Run(t.Context()) }()
		synctest.Wait()
		h.control.SetTemplateEnv(map[string]string{"FROM_TEMPLATE": "yes"})
		if err := h.control.Signal(event.TemplateSignal("hangup"), "SIGHUP"); err != nil {
			t.Error(err)
		}
		if err := h.control.Restart(t.Context(), event.TemplateRestart()); err != nil {
			t.Error(err)
		}
		pass(time.Nanosecond)
		synctest.Wait()
		h.control.Fail(event.KillingFailed("Template failed: no"))
		<-done
		if err := h.control.Restart(t.Context(), event.TemplateRestart()); !errors.Is(err, hooks.ErrNotRunning) {
			t.Errorf("a restart when all is over: %v", err)
		}
		if want := []string{"", "yes"}; !slices.Equal(seen, want) {
			t.Errorf("prestart saw %q, want %q", seen, want)
		}
		want := []string{
			"Task received by client", "Task started by client", "Template re-rendered",
			"Template with change_mode restart re-rendered", "Exit Code: 0", "Task restarting in 0s", "Task started by client",
			"Template failed: no", "Unhealthy because of failed task", "Exit Code: 0", "Task successfully killed",
		}
		got := s.taskEvents()
		for i := range got {
			if len(got[i]) > len("Exit Code: 0") && got[i][:10] == "Exit Code:" {
				got[i] = "Exit Code: 0"
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if state := s.alloc.State().Tasks["t"]; !state.Failed || state.State != "dead" {
			t.Errorf("the task is %s, failed: %v", state.State, state.Failed)
		}
	})
}
