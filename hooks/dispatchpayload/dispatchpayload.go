// Package dispatchpayload is the task hook that writes the payload of a
// dispatched job to the file that the task names.
// See https://developer.hashicorp.com/nomad/docs/job-specification/dispatch_payload.
package dispatchpayload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"taskrun/engine/allocdir"
	"taskrun/hooks"
)

type hook struct{ task hooks.Task }

// New makes the hook of a task; nil when the job has no payload or the task
// does not want it.
func New(t hooks.Task) hooks.TaskHook {
	want := t.Task.DispatchPayload
	if want == nil || want.File == "" || len(t.Job.Payload) == 0 {
		return nil
	}
	return &hook{task: t}
}

func (h *hook) Name() string { return "dispatch_payload" }

// Prestart writes the file below local/, before the first start. It cannot
// leave that directory.
func (h *hook) Prestart(_ context.Context, _ *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	file := filepath.Clean("/" + h.task.Task.DispatchPayload.File)[1:]
	local, err := os.OpenRoot(allocdir.TaskOf(h.task.AllocDir, h.task.Task.Name).Local)
	if err != nil {
		return fmt.Errorf("cannot write the payload: %w", err)
	}
	defer func() { _ = local.Close() }()
	if err := local.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return fmt.Errorf("cannot make the directory of payload file %q: %w", file, err)
	}
	if err := local.WriteFile(file, h.task.Job.Payload, 0o777); err != nil {
		return fmt.Errorf("cannot write payload file %q: %w", file, err)
	}
	resp.Done = true
	return nil
}
