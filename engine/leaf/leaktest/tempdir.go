// Package leaktest helps tests to notice files that stay open.
package leaktest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TempDir is the TempDir of a test that fails if anything in the directory is still
// open when it ends. The garbage collector may have closed it before; Open, called at
// once, hardly misses anything.
func TempDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		for _, path := range Open(dir) {
			t.Errorf("%s is still open", path)
		}
	})
	return dir
}

// Open returns what this process has open of a directory, itself and everything below
// it. Without /proc it finds nothing.
func Open(dir string) (open []string) {
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		if path, err := os.Readlink(fd); err == nil && (path == dir || strings.HasPrefix(path, dir+"/")) {
			open = append(open, path)
		}
	}
	return open
}
