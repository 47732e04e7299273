// Package dispatchpayload is the task hook that writes the payload of a
// dispatched job to the file in the task's dispatch_payload block. See
// https://developer.hashicorp.com/nomad/docs/job-specification/dispatch_payload.
package dispatchpayload

import (
	"context"
	"fmt"
	"path/filepath"

	"taskrun/hooks"
)

type hook struct{ task hooks.Task }

// New returns the hook of a task, or nil if the job has no payload or the task
// has no such block.
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
	if err := h.task.Dir.WriteFile(h.task.Task.Name, filepath.Join("local", file), h.task.Job.Payload); err != nil {
		return fmt.Errorf("cannot write the payload: %w", err)
	}
	resp.Done = true
	return nil
}
