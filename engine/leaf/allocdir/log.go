package allocdir

import (
	"fmt"
	"os"
	"path/filepath"
)

// NewLog makes a file in the data directory for what a run has to say that has
// no directory yet. The caller moves or removes it.
func NewLog(dataDir string) (*os.File, error) {
	dataDir, err := filepath.Abs(dataDir)
	if err == nil {
		err = checkDataDir(dataDir)
	}
	if err == nil {
		err = makePrivate(dataDir)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dataDir, ".log-*")
	if err != nil {
		return nil, fmt.Errorf("cannot keep the log of a run: %w", err)
	}
	return f, nil
}
