package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"taskrun/engine/leaf/safedir"
)

// Staging creates and returns the directory in which the engine prepares files
// for an allocation. It is next to the allocation, on the same file system, and
// only the engine's user can enter it: no task can replace its files.
// RemoveSecrets and Remove remove it.
func Staging(allocDir string) (string, error) {
	dir := stagingOf(allocDir)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("cannot make staging directory %q: %w", dir, err)
	}
	info, err := os.Lstat(dir)
	if err == nil && (!info.IsDir() || info.Mode().Perm()&0o077 != 0 || safedir.UIDOf(info) != os.Geteuid()) {
		err = errors.New("something else is in its place")
	}
	if err != nil {
		return "", fmt.Errorf("cannot make staging directory %q: %w", dir, err)
	}
	return dir, nil
}

func stagingOf(allocDir string) string {
	return filepath.Join(filepath.Dir(allocDir), ".staging-"+filepath.Base(allocDir))
}

func removeStaging(allocDir string) error {
	if err := os.RemoveAll(stagingOf(allocDir)); err != nil {
		return fmt.Errorf("cannot remove staged files: %w", err)
	}
	return nil
}

// TimesOf returns the directory that records when the output of an allocation was
// read from its tasks. Like that of Staging, it is next to the allocation, and only
// the engine's user can enter it. It stays as long as the output; Remove removes it.
func TimesOf(allocDir string) string {
	return filepath.Join(filepath.Dir(allocDir), ".times-"+filepath.Base(allocDir))
}
