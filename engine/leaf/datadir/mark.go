package datadir

import (
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// residentFile is the name of the file that marks a run as one of a resident
// engine. It contains the path of the engine's state directory: as long as that
// is locked, so is the name of the run's job.
const residentFile = "resident"

// residentOf returns the state directory of the resident engine of a run, and
// whether it has one.
func residentOf(runDir string) (stateDir string, ok bool) {
	f, err := os.Open(filepath.Join(runDir, residentFile))
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, unix.PathMax))
	return string(text), err == nil
}

// mark makes a run one of a resident engine.
func mark(runDir, stateDir string) error {
	next := filepath.Join(runDir, "."+residentFile)
	if err := os.WriteFile(next, []byte(stateDir), 0o600); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(runDir, residentFile))
}

// Disown makes a run of a resident engine one that has ended.
func Disown(runDir string) error { return os.Remove(filepath.Join(runDir, residentFile)) }
