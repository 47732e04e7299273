package port

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lock makes the file by which other engines know that a port is given out. The
// kernel gives the lock up when this process dies. It returns nil when there is
// no place for such files: then only what is listened on is known.
func (c *Claims) lock(number int, by string) (*os.File, error) {
	if c.dir == "" {
		return nil, nil
	}
	name := filepath.Join(c.dir, strconv.Itoa(number))
	for {
		f, err := open(name)
		if err != nil {
			return nil, nil
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			holder, _ := io.ReadAll(io.LimitReader(f, 1<<10))
			_ = f.Close()
			if err == unix.EINTR {
				continue
			}
			return nil, &InUseError{Port: number, By: "another run of taskrun" + strings.TrimSuffix(": "+string(holder), ": ")}
		}
		if !isAt(f, name) { // its holder removed it meanwhile
			_ = f.Close()
			continue
		}
		_ = f.Truncate(0)
		_, _ = fmt.Fprintf(f, "%s, process %d", by, os.Getpid())
		return f, nil
	}
}

func open(name string) (*os.File, error) {
	const flags = os.O_RDWR | os.O_CREATE | unix.O_NOFOLLOW
	f, err := os.OpenFile(name, flags, 0o600)
	if os.IsNotExist(err) {
		if err = os.MkdirAll(filepath.Dir(name), 0o700); err == nil {
			f, err = os.OpenFile(name, flags, 0o600)
		}
	}
	return f, err
}

// isAt reports whether the file is the one that has the name now.
func isAt(f *os.File, name string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(name)
	return err == nil && os.SameFile(mine, there)
}

// unlock removes the file while it is still locked, so that it is nobody
// else's.
func unlock(f *os.File) {
	if f != nil {
		_ = os.Remove(f.Name())
		_ = f.Close()
	}
}
