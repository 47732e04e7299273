// Package migratedisk is the allocation hook for groups whose ephemeral_disk is
// sticky or migrates. It takes over the data of the allocation that this one
// replaces, or of the job's last run. See
// https://developer.hashicorp.com/nomad/docs/job-specification/ephemeral_disk.
package migratedisk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskrun/engine/leaf/event"
	"taskrun/hooks"
)

type hook struct{ alloc hooks.Alloc }

// New returns the hook of an allocation, or nil if there is no data to take
// over.
func New(a hooks.Alloc) hooks.AllocHook {
	if a.Sticky == "" {
		return nil
	}
	return &hook{a}
}

func (h *hook) Name() string { return "migrate_disk" }

// Prerun moves the data. As in Nomad, the allocation runs without data that
// could not be moved.
func (h *hook) Prerun(context.Context) error {
	var errs []error
	var tasks []string
	for _, t := range h.alloc.Group.Tasks {
		// The task's own hook sets the owner of the directories.
		if err := h.alloc.Dir.BuildTask(t.Name, nil); err != nil { // the same error then fails the task
			errs = append(errs, err)
			continue
		}
		tasks = append(tasks, t.Name)
	}
	errs = append(errs, h.alloc.Dir.Inherit(h.alloc.Sticky, tasks))
	if err := errors.Join(errs...); err != nil {
		h.alloc.Publish(time.Now(), event.Notice{Text: fmt.Sprintf("not all of the sticky data is there: %v", err)})
	}
	return nil
}
