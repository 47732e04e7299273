package allocdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// removing is the prefix of the name of a run that is being removed.
const removing = ".removing-"

// Prune removes the oldest runs of the job until keep are left, and the remains
// of an interrupted Prune. This run counts and is never removed. No other run
// of the job can be alive, because this one holds the lock. Those of a resident
// engine stay.
func (r *Run) Prune(keep int) error {
	if r.lock == nil {
		return fmt.Errorf("cannot prune runs: %w", os.ErrClosed)
	}
	entries, err := os.ReadDir(runsDir(r.jobDir)) // sorted by name, which means by time
	if err != nil {
		return fmt.Errorf("cannot prune runs: %w", err)
	}
	var begun, old []string
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, removing):
			begun = append(begun, name)
		case e.IsDir() && !isHidden(name) && name != filepath.Base(r.Dir):
			if _, resident := residentOf(filepath.Join(runsDir(r.jobDir), name)); !resident {
				old = append(old, name)
			}
		}
	}
	old = old[:max(0, len(old)-max(0, keep-1))]
	if len(begun)+len(old) == 0 {
		return nil
	}
	remover, err := newRemover(runsDir(r.jobDir))
	if err != nil {
		return fmt.Errorf("cannot prune runs: %w", err)
	}
	defer remover.close()
	var errs []error
	for _, name := range begun {
		errs = append(errs, remover.remove(name))
	}
	for _, id := range old {
		errs = append(errs, removeRun(remover, id))
	}
	return errors.Join(errs...)
}

// removeRun first renames the run, so that a removal that fails halfway leaves
// no run.
func removeRun(r *remover, id string) error {
	if err := r.checkMounts(id); err != nil {
		return err
	}
	if err := r.root.Rename(id, removing+id); err != nil {
		return fmt.Errorf("cannot remove run %q: %w", id, err)
	}
	return r.remove(removing + id)
}
