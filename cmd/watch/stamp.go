package watch

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// stamp identifies a version of a file. That of a missing file is zero.
type stamp struct {
	dev, inode uint64
	size       int64
	modified   time.Time
}

// stampOf returns the stamp of the file that a path leads to.
func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	s := stamp{size: info.Size(), modified: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.dev, s.inode = uint64(sys.Dev), sys.Ino //nolint:unconvert,gosec // its type depends on the system; it is only compared
	}
	if info.IsDir() {
		s.size = 0 // the time tells when entries come and go
	}
	return s
}

// maxLinks limits the symbolic links on the way to a file, as the system does.
const maxLinks = 40

// around returns the directories in which a change may redirect a path to another
// file: those of the file and of the symbolic links on the way to it. For a missing
// file it is the nearest directory above.
func around(path string) (dirs []string) {
	at, rest := "/", strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		switch {
		case err != nil:
			return append(dirs, at)
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(next)
			if links++; err != nil || links > maxLinks {
				return append(dirs, at)
			}
			dirs = append(dirs, at)
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(strings.Split(strings.Trim(target, "/"), "/"), rest[1:]...)
			continue
		case len(rest) == 1 && info.IsDir():
			return append(dirs, at, next)
		case len(rest) == 1:
			return append(dirs, at)
		}
		at, rest = next, rest[1:]
	}
	return append(dirs, at)
}
