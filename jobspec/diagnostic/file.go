package diagnostic

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bare removes the path from an error that is shown with it.
func Bare(err error) error {
	if withPath, ok := errors.AsType[*fs.PathError](err); ok {
		return withPath.Err
	}
	return err
}

// SimilarFile returns a remedy that names a file beside one that is missing, or "".
// The path may be written in another way, with the same end.
func SimilarFile(path, written string) string {
	dir, name := filepath.Split(path)
	entries, _ := os.ReadDir(filepath.Clean(dir))
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if near := Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", strings.TrimSuffix(written, name)+near)
	}
	return ""
}
