// Package migratedisk is the allocation hook that takes over the data of an
// earlier allocation for a group whose ephemeral_disk is sticky or migrates: of
// the one that this one replaces, or of the last run of the job.
// See https://developer.hashicorp.com/nomad/docs/job-specification/ephemeral_disk.
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

// New makes the hook of an allocation; nil when nothing sticks.
func New(a hooks.Alloc) hooks.AllocHook {
	if a.Sticky == "" {
		return nil
	}
	return &hook{a}
}

func (h *hook) Name() string { return "migrate_disk" }

// Prerun moves the data. As in Nomad the allocation runs without what could not
// be moved.
func (h *hook) Prerun(context.Context) error {
	var errs []error
	var tasks []string
	for _, t := range h.alloc.Group.Tasks {
		// The task's own hook gives it the directories.
		if err := h.alloc.Dir.BuildTask(t.Name, nil); err != nil { // which fails the task as well, when its turn comes
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
