// Package taskdir is the task hook that creates a task's directories.
package taskdir

import (
	"context"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
)

type hook struct{ task hooks.Task }

// New returns the hook of a task.
func New(t hooks.Task) hooks.TaskHook { return &hook{task: t} }

func (h *hook) Name() string { return "task_dir" }

// Prestart creates the directories before the first start.
func (h *hook) Prestart(_ context.Context, _ *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	h.task.Emit(event.Setup("Building Task Directory"))
	if err := h.task.Dir.BuildTask(h.task.Task.Name, h.task.Owner()); err != nil {
		return err
	}
	if h.task.Driver.FSIsolation == drivers.FSIsolationImage {
		if err := h.task.Dir.Isolate(h.task.Task.Name); err != nil {
			return err
		}
	}
	resp.Done = true
	return nil
}
