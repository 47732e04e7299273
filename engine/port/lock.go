package port

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/runtimedir"
)

// ErrInUse matches every *InUseError, see Is.
var ErrInUse = errors.New("port is in use")

// InUseError says which process has a port.
type InUseError struct {
	Port int
	By   string // such as "process 4711 (nginx)"
}

func (e *InUseError) Error() string { return fmt.Sprintf("port %d is in use by %s", e.Port, e.By) }

// Is makes errors.Is(err, ErrInUse) work.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// lock makes and locks a file that shows other engines that a port is assigned. The
// kernel releases the lock when this process dies. lock returns nil if no directory
// for such files belongs to this user alone: then an engine only sees on which
// ports others listen.
func lock(path string, number int, by string) (*os.File, error) {
	if path == "" {
		return nil, nil
	}
	dir, err := openDir(path)
	if err != nil {
		return nil, nil
	}
	defer dir.Close()
	name := strconv.Itoa(number)
	for {
		f, err := openIn(dir, name)
		if err != nil {
			return nil, nil
		}
		if err := runtimedir.Flock(f, unix.LOCK_EX|unix.LOCK_NB); err != nil {
			holder, _ := io.ReadAll(io.LimitReader(f, 1<<10))
			_ = f.Close()
			return nil, &InUseError{Port: number, By: "another run of taskrun" + strings.TrimSuffix(": "+string(holder), ": ")}
		}
		if !isIn(dir, f, name) { // its owner has removed it meanwhile
			_ = f.Close()
			continue
		}
		_ = f.Truncate(0)
		_, _ = fmt.Fprintf(f, "%s, process %d", by, os.Getpid())
		return f, nil
	}
}

// openDir opens the directory of locks. It creates a missing one.
func openDir(path string) (*os.File, error) {
	const flags = os.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW
	dir, err := os.OpenFile(path, flags, 0)
	if os.IsNotExist(err) {
		if err = os.MkdirAll(path, 0o700); err == nil {
			dir, err = os.OpenFile(path, flags, 0)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := runtimedir.CheckDir(dir); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// openIn opens or creates a lock in a directory.
func openIn(dir *os.File, name string) (*os.File, error) {
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Openat(int(dir.Fd()), name, flags, 0o600)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), filepath.Join(dir.Name(), name))
	if err := runtimedir.CheckFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isIn reports whether the name still refers to the file.
func isIn(dir, f *os.File, name string) bool {
	var mine, there unix.Stat_t
	if unix.Fstat(int(f.Fd()), &mine) != nil || unix.Fstatat(int(dir.Fd()), name, &there, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	return mine.Dev == there.Dev && mine.Ino == there.Ino
}

// unlock removes the file while it is still locked: after that, another engine
// could have locked it.
func unlock(f *os.File) {
	if f == nil {
		return
	}
	if dir, err := openDir(filepath.Dir(f.Name())); err == nil {
		if name := filepath.Base(f.Name()); isIn(dir, f, name) {
			_ = unix.Unlinkat(int(dir.Fd()), name, 0)
		}
		_ = dir.Close()
	}
	_ = f.Close()
}
