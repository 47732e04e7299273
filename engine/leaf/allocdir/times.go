package allocdir

import (
	"fmt"
	"os"
	"path/filepath"
)

// TimesOf returns the directory that records when the output of an allocation was
// read from its tasks. Like that of Staging, it is next to the allocation, and only
// the engine's user can enter it. It stays as long as the output; Remove removes it.
func TimesOf(allocDir string) string {
	return filepath.Join(filepath.Dir(allocDir), ".times-"+filepath.Base(allocDir))
}

func removeTimes(allocDir string) error {
	if err := os.RemoveAll(TimesOf(allocDir)); err != nil {
		return fmt.Errorf("cannot remove the times of the output: %w", err)
	}
	return nil
}
