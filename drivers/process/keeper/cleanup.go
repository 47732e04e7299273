package keeper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"taskrun/drivers/process"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/scratch"
)

// remains returns the evidence for the processes of the run.
func (c *contents) remains() *process.Remains {
	r := &process.Remains{Mark: c.mark, Allocs: map[string]bool{}}
	for _, dir := range slices.Concat(c.dirs, c.kept) {
		entries, _ := os.ReadDir(filepath.Join(dir, "alloc")) // empty if nothing ran
		for _, e := range entries {
			r.Allocs[e.Name()] = true
		}
	}
	for _, p := range c.started {
		r.Leaders = append(r.Leaders, p.ID)
	}
	return r
}

// A Cleaner removes the tasks of a driver that are not processes, given the
// driver's own reference; see drivers.Lasting.
type Cleaner func(ctx context.Context, driver, ref string) error

// cleanUp kills the processes of a run, and then removes its files. It returns
// the processes it killed.
func (c *contents) cleanUp(ctx context.Context, clean Cleaner) (killed []process.Remain, err error) {
	if c.boot == bootID() {
		killed, err = c.remains().Kill(ctx)
	}
	errs := []error{err}
	for _, l := range c.lasting {
		errs = append(errs, clean(ctx, l.driver, l.ref))
	}
	for _, path := range c.sockets {
		errs = append(errs, removeSocket(path))
	}
	for _, dir := range c.dirs {
		errs = append(errs, datadir.Abandon(dir, c.program.PID))
	}
	for _, dir := range c.kept {
		errs = append(errs, datadir.Interrupt(dir, c.program.PID))
	}
	for _, dir := range c.scratch {
		errs = append(errs, scratch.Remove(dir))
	}
	return killed, errors.Join(errs...)
}

// closeTime is how long a dying program may continue to listen.
const closeTime = time.Second

// removeSocket removes a socket without a listener. It removes nothing else,
// regardless of the record.
func removeSocket(path string) error {
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeSocket {
		return nil
	}
	for deadline := time.Now().Add(closeTime); ; <-time.After(time.Millisecond) {
		conn, err := net.Dial("unix", path)
		if errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
		if err != nil || time.Now().After(deadline) {
			return nil // it is gone, or belongs to another program by now
		}
		conn.Close()
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the socket of a run: %w", err)
	}
	return nil
}
