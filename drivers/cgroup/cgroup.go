// Package cgroup makes control groups, in which Linux counts, limits and kills
// the processes of a task together; see cgroups(7).
//
// A Tree is where the groups of one run are. It is made where nobody else is at
// work: with version 2 in the group that this program was given alone, or for
// root below /taskrun; with version 1, where root's rights are needed, below
// /taskrun of each hierarchy. The directory of a run is locked as long as the
// run lives. What a run that was killed has left there is removed by the next,
// unless processes still live in it.
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

// Limits are what holds for the processes of a group together.
type Limits struct {
	Memory    int64 // bytes; beyond that one of them is killed; 0: no limit
	Reserved  int64 // bytes that are taken from them last, when memory is scarce; 0: none
	CPUShares int   // weight, among others who want the CPU; 0: that of any process
}

// The controllers that are used. Memory must be there, the others may be.
const (
	memory  = "memory"
	cpu     = "cpu"
	freezer = "freezer" // of version 1; version 2 can do that anyway
)

// write writes to a file of a group.
func write(dir, file, text string) error {
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
		return fmt.Errorf("cannot write %q to %s: %w", text, filepath.Join(dir, file), reason(err))
	}
	return nil
}

// words returns the words of a file of a group; none when it cannot be read.
func words(dir, file string) []string {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return nil
	}
	return strings.Fields(string(data))
}

func has(dir, file, word string) bool { return slices.Contains(words(dir, file), word) }

// reason returns an error without the operation and the path that os adds.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
