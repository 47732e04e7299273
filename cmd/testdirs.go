package cmd

import (
	"fmt"
	"os"

	"taskrun/cmd/jobtest"
	"taskrun/engine/leaf/allocdir"
)

// testDirs are the folders of everything that the runs of a call write.
type testDirs struct{ virtual, real string }

// of returns the folder of a run.
func (d testDirs) of(mode jobtest.Mode) string {
	if mode == jobtest.Real {
		return d.real
	}
	return d.virtual
}

// makeTestDirs makes the folders. That of virtual runs, in which no program is
// executed, is in memory where there is room.
func makeTestDirs(a *app) (dirs testDirs, remove func(), err error) {
	remove = func() {
		for _, dir := range []string{dirs.virtual, dirs.real} {
			if err := allocdir.Remove(dir); dir != "" && err != nil {
				a.Report("", fmt.Sprintf("cannot remove the folder of the job tests: %v", err))
			}
		}
	}
	const pattern = "taskrun-test-"
	if a.Streams.Env("TMPDIR") == "" {
		dirs.virtual = allocdir.MakeInMemory(pattern)
	}
	if dirs.virtual == "" {
		dirs.virtual, err = os.MkdirTemp("", pattern)
	}
	if err == nil {
		dirs.real, err = os.MkdirTemp("", pattern)
	}
	if err != nil {
		remove()
		return dirs, nil, fmt.Errorf("cannot make a folder for job tests: %w", err)
	}
	return dirs, remove, nil
}
