package client

import (
	"context"
	"fmt"

	"github.com/hashicorp/nomad/api"
)

// Exec runs a command in a running task and returns its exit code, or 128+n if
// signal n ended it. If ctx ends first, the command is killed. Errors of Stdout
// and Stderr are ignored.
func (t *Task) Exec(ctx context.Context, s Session) (code int, err error) {
	if t.Server.Socket != "" {
		code, err = execInEngine(ctx, t, s)
	} else {
		code, err = execInCluster(ctx, t, s)
	}
	if err == nil {
		return code, nil
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	what := "exec"
	if s.Action != "" {
		what = fmt.Sprintf("action %q", s.Action)
	}
	return 0, fmt.Errorf("%s in task %q: %w", what, t.Name, t.Server.Lost(err))
}

func execInCluster(ctx context.Context, t *Task, s Session) (int, error) {
	alloc := &api.Allocation{ID: t.Alloc.ID, NodeID: t.Alloc.NodeID, Namespace: t.Alloc.Namespace, TaskGroup: t.Alloc.TaskGroup}
	q := &api.QueryOptions{Namespace: t.Alloc.Namespace}
	if s.Action != "" {
		return t.Server.API.Jobs().ActionExec(ctx, alloc, t.Alloc.JobID, t.Name, s.Tty, nil, s.Action, s.Stdin, s.Stdout, s.Stderr, s.Sizes, q)
	}
	return t.Server.API.Allocations().Exec(ctx, alloc, t.Name, s.Tty, s.Command, s.Stdin, s.Stdout, s.Stderr, s.Sizes, q)
}
