package allocdir

import (
	"fmt"
	"os"
	"path/filepath"
)

// TimesOf is the directory in which it is kept when the output of an allocation was
// read. Like that of Staging it lies beside the allocation, where only the engine's
// user can enter. It stays as long as the output; Remove removes it.
func TimesOf(allocDir string) string {
	return filepath.Join(filepath.Dir(allocDir), ".times-"+filepath.Base(allocDir))
}

func removeTimes(allocDir string) error {
	if err := os.RemoveAll(TimesOf(allocDir)); err != nil {
		return fmt.Errorf("cannot remove the times of the output: %w", err)
	}
	return nil
}
