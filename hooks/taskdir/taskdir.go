// Package taskdir is the task hook that makes a task's directories.
package taskdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"

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
	owner, err := owner(h.task.Task.User)
	if err != nil {
		return err
	}
	if _, err := allocdir.BuildTask(h.task.AllocDir, h.task.Task.Name, owner); err != nil {
		return err
	}
	resp.Done = true
	return nil
}

// owner returns whom the task's private directories are given to: the task's
// user, by name or number, when taskrun may give them away.
func owner(name string) (*allocdir.Owner, error) {
	if name == "" || os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if _, numeric := strconv.Atoi(name); err != nil && numeric == nil {
		u, err = user.LookupId(name)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find the task's user %q: %w", name, err)
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return nil, fmt.Errorf("cannot read the ids of user %q: %w", name, err)
	}
	return &allocdir.Owner{UID: uid, GID: gid}, nil
}
