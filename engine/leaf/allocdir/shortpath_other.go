//go:build !linux

package allocdir

import (
	"os"
	"path/filepath"
)

// short returns a path of a file in a directory. Without /proc there is no
// shorter one: what is too long for a socket cannot be made.
func short(_ *os.File, path, name string) string { return filepath.Join(path, name) }
