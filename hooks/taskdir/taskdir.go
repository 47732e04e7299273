// Package taskdir is the task hook that makes a task's directories.
package taskdir

import (
	"context"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
)

type hook struct{ task hooks.Task }

// New makes the hook of a task.
func New(t hooks.Task) hooks.TaskHook { return &hook{task: t} }

func (h *hook) Name() string { return "task_dir" }

// Prestart makes the directories before the first start.
func (h *hook) Prestart(_ context.Context, _ *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	h.task.Emit(event.Setup("Building Task Directory"))
	isolated := h.task.Driver.FSIsolation == drivers.FSIsolationImage
	var owner *allocdir.Owner
	if !isolated { // else the users are unknown here
		// A user that does not exist is for the driver to report.
		owner, _ = allocdir.OwnerOf(h.task.Task.User)
	}
	if err := h.task.Dir.BuildTask(h.task.Task.Name, owner); err != nil {
		return err
	}
	if isolated {
		if err := h.task.Dir.Isolate(h.task.Task.Name); err != nil {
			return err
		}
	}
	resp.Done = true
	return nil
}
