package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// removing begins the name of a run that is being removed.
const removing = ".removing-"

// Prune removes the oldest runs of the job until keep are left. This run
// counts, and is never removed. No other run of the job can be alive, since
// this one holds the lock.
func (r *Run) Prune(keep int) error {
	root, err := os.OpenRoot(r.runsDir())
	if err != nil {
		return fmt.Errorf("cannot prune runs: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".") // sorted by name: by time
	if err != nil {
		return fmt.Errorf("cannot prune runs: %w", err)
	}
	var errs []error
	var old []string
	for _, e := range entries {
		switch {
		case !e.IsDir() || e.Name() == r.id:
		case strings.HasPrefix(e.Name(), removing):
			errs = append(errs, removeAll(root, e.Name()))
		case isName(e.Name()):
			old = append(old, e.Name())
		}
	}
	for len(old) > max(keep-1, 0) {
		errs = append(errs, removeRun(root, old[0]))
		old = old[1:]
	}
	return errors.Join(errs...)
}

// removeRun renames the run first, so that nobody takes what is left of it for
// a run.
func removeRun(root *os.Root, id string) error {
	if err := root.Rename(id, removing+id); err != nil {
		return fmt.Errorf("cannot remove run %q: %w", id, err)
	}
	return removeAll(root, removing+id)
}
