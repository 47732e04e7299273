package allocdir

import (
	"os"
	"path/filepath"
)

// VolumeDir is the directory for a volume that has none of its own, named by
// its source. It belongs to no run and is never removed.
func VolumeDir(dataDir, source string) string {
	return filepath.Join(dataDir, "volumes", escape(source))
}

// MakeVolume makes the directory of a volume, for tasks of any user, and
// returns it. One that exists stays as it is.
func MakeVolume(dataDir, source string) (string, error) {
	dir := VolumeDir(dataDir, source)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := makePrivate(filepath.Dir(dir)); err != nil {
		return "", err
	}
	return dir, build(filepath.Dir(dir), entry{filepath.Base(dir), 0o777}, nil, nil)
}
