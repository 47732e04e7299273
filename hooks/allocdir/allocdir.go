// Package allocdir is the allocation hook that creates an allocation's
// directories, and removes its secrets when it has ended.
package allocdir

import (
	"context"

	"taskrun/engine/leaf/allocdir"
	"taskrun/hooks"
)

type hook struct{ dir *allocdir.Dir }

// New returns the hook of an allocation.
func New(a hooks.Alloc) hooks.AllocHook { return &hook{dir: a.Dir} }

func (h *hook) Name() string { return "alloc_dir" }

// Prerun creates the directories that the tasks share.
func (h *hook) Prerun(context.Context) error { return h.dir.Build() }

// Postrun removes the files that only the tasks may see.
func (h *hook) Postrun(context.Context) error { return h.dir.RemoveSecrets() }

// Destroy removes the directories.
func (h *hook) Destroy(context.Context) error { return allocdir.Remove(h.dir.Path()) }
