package keeper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"taskrun/drivers/process"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/runtimedir"
)

// A Dead run is a run whose program was killed together with its keeper. It
// stays locked until it is closed.
type Dead struct {
	PID  int      // of the program
	Jobs []string // IDs

	contents contents
	file     *os.File
	claimed  bool
	claims   []*os.File // open until Close
}

// FindDead returns the dead runs with a record in a directory. It examines no
// process, and costs almost nothing without records. The caller must sweep or
// close every run.
func FindDead(dir string) ([]*Dead, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = runtimedir.Check(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look for dead runs in %q: %w", dir, err)
	}
	var found []*Dead
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		d, err := openDead(filepath.Join(dir, e.Name()))
		if err != nil {
			for _, d := range found {
				_ = d.Close()
			}
			return nil, fmt.Errorf("cannot look for dead runs in %q: %w", dir, err)
		}
		if d != nil {
			found = append(found, d)
		}
	}
	return found, nil
}

// openDead returns nil for a run that is alive, and for files that are not a
// record of this user.
func openDead(path string) (*Dead, error) {
	f, err := runtimedir.OpenFile(path, os.O_RDWR)
	if err != nil {
		return nil, nil // it is just gone, or belongs to another user
	}
	d := &Dead{file: f}
	if err := runtimedir.Flock(f, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, d.Close() // another program has it
	}
	if runtimedir.CheckFile(f) != nil {
		return nil, d.Close() // it was removed
	}
	if d.contents, err = parse(f); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if d.contents.end == 0 {
		// Its program died before it had written anything, or after it had cleaned up.
		return nil, errors.Join(os.Remove(path), d.Close())
	}
	if d.contents.program.PID == 0 {
		return nil, d.Close() // it is damaged
	}
	d.PID = d.contents.program.PID
	for _, dir := range slices.Concat(d.contents.dirs, d.contents.kept) {
		d.Jobs = append(d.Jobs, datadir.JobOf(dir))
	}
	slices.Sort(d.Jobs)
	return d, nil
}

// Processes returns the running processes of the run.
func (d *Dead) Processes() []process.Remain {
	if d.contents.boot != bootID() {
		return nil
	}
	d.claim()
	return d.contents.remains().Find()
}

// claim prevents other programs from taking the run's mark, and from continuing
// the run. If one has done so already, the mark or the allocations are ignored:
// its processes have them, too. The claim lasts until the run is closed: a process
// that starts while the claim is released inherits it until execve(2), and the next
// claim would look like one of another run.
func (d *Dead) claim() {
	if d.claimed {
		return
	}
	d.claimed = true
	d.contents.kept, d.claims = datadir.ClaimRuns(d.contents.kept)
	if d.contents.mark == 0 {
		return
	}
	f, free := process.ClaimMark(d.contents.mark)
	if !free {
		d.contents.mark = 0
	}
	if f != nil {
		d.claims = append(d.claims, f)
	}
}

// Sweep kills the running processes of the run, removes its files, and closes
// it. It returns the processes it killed. After an error the run will be found
// again, unless last is set.
func (d *Dead) Sweep(ctx context.Context, clean Cleaner, last bool) ([]process.Remain, error) {
	d.claim()
	killed, err := d.contents.cleanUp(ctx, clean)
	if err == nil || last {
		err = errors.Join(err, removeRecord(d.file, d.file.Name()))
	}
	if err = errors.Join(err, d.Close()); err != nil {
		err = fmt.Errorf("cannot clean up after the run of process %d: %w", d.PID, err)
	}
	return killed, err
}

// Close unlocks the run for others.
func (d *Dead) Close() error {
	for _, f := range d.claims {
		_ = f.Close() // a second time after Sweep
	}
	return d.file.Close()
}
