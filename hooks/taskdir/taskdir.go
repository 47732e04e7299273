// Package taskdir is the task hook that makes a task's directories.
package taskdir

import (
	"context"

	"taskrun/drivers"
	"taskrun/engine/allocdir"
	"taskrun/engine/event"
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
	var owner *allocdir.Owner // of an image, nobody here knows the users
	if !isolated {
		var err error
		if owner, err = allocdir.OwnerOf(h.task.Task.User); err != nil {
			return err
		}
	}
	if _, err := allocdir.BuildTask(h.task.AllocDir, h.task.Task.Name, owner); err != nil {
		return err
	}
	if isolated {
		if err := allocdir.Isolate(h.task.AllocDir, h.task.Task.Name); err != nil {
			return err
		}
	}
	resp.Done = true
	return nil
}
