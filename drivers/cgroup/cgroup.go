// Package cgroup creates control groups, in which Linux measures, limits and
// kills the processes of a task together; see cgroups(7).
//
// A Tree contains the groups of one run. With version 2 it is in the group of
// this program, if that contains no other process, or in /taskrun for root;
// with version 1, which needs root, in /taskrun of each hierarchy. The
// directory of a run is locked while the run is alive. The next run removes the
// directories of killed runs, unless they still contain processes.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits are the limits of all processes of a group together.
type Limits struct {
	Memory    int64 // bytes; the kernel kills a process that exceeds it; 0: no limit
	Reserved  int64 // bytes that the kernel reclaims last; 0: none
	CPUShares int   // weight relative to other processes; 0: the default
}

// The controllers in use. Only memory is required.
const (
	memory  = "memory"
	cpu     = "cpu"
	freezer = "freezer" // of version 1; version 2 needs none
)

// write writes to a file of a group.
func write(dir, file, text string) error {
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
		return fmt.Errorf("cannot write %q to %s: %w", text, filepath.Join(dir, file), reason(err))
	}
	return nil
}

// words returns the words in a file of a group, or none if it cannot be read.
func words(dir, file string) []string {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return nil
	}
	return strings.Fields(string(data))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func has(dir, file, word string) bool { return slices.Contains(words(dir, file), word) }

// reason returns an error without the operation and the path of package os.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
