package httpapi

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/runtimedir"
)

const (
	suffix = ".sock"
	// unnamed is the name of a socket that does not accept connections yet.
	unnamed = ".new"
	// maxPath is the maximum length of a socket's path, in bytes: sun_path on
	// macOS has 104, including the final zero.
	maxPath = 103
	// connectTime is how long a running engine may take to accept a connection.
	connectTime = time.Second
)

// SocketName returns the name of a run's socket: <job>-<pid>, without
// characters that are invalid in an address (unix://…).
func SocketName(job string, pid int) string {
	job = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
			return r
		default:
			return '_'
		}
	}, job)
	return strings.TrimLeft(job, ".") + "-" + strconv.Itoa(pid)
}

// PID returns the process that serves a socket, from the socket's name, or 0 if
// the name is not one of SocketName.
func PID(path string) int {
	name := strings.TrimSuffix(filepath.Base(path), suffix)
	pid, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil {
		return 0
	}
	return pid
}

// Listen creates a socket in a directory, both accessible only to the user, and
// returns it with its path. If the path would be too long, the beginning of the
// name is cut off. It replaces the socket of a dead engine; if a process
// listens at the socket, it returns an error.
func Listen(dir, name string) (net.Listener, string, error) {
	path, err := socketPath(dir, name)
	if err == nil {
		err = runtimedir.Make(dir)
	}
	if err != nil {
		return nil, "", fmt.Errorf("cannot listen in %q: %w; set XDG_RUNTIME_DIR to a directory that is yours, with mode 0700 and a short path", dir, err)
	}
	alive, err := probe(path)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("cannot listen at %q: %w", path, err)
	case alive:
		return nil, "", fmt.Errorf("cannot listen at %q: %w", path, syscall.EADDRINUSE)
	}
	l, err := listen(path)
	if err != nil {
		return nil, "", fmt.Errorf("cannot listen at %q: %w", path, err)
	}
	return l, path, nil
}

// listen gives the socket its name only once it accepts connections: earlier,
// Find would take it for the socket of a dead engine.
func listen(path string) (own net.Listener, err error) {
	err = whileLocked(filepath.Dir(path), func() error {
		unnamed := filepath.Join(filepath.Dir(path), unnamed)
		if err := removeUnnamed(unnamed); err != nil {
			return err
		}
		l, err := net.Listen("unix", unnamed)
		if err != nil {
			return err
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false) // it would use the temporary name
		err = os.Chmod(unnamed, 0o600)                // until here, the directory has kept others away
		if err == nil {
			err = os.Rename(unnamed, path)
		}
		if err != nil {
			return errors.Join(err, l.Close(), os.Remove(unnamed))
		}
		own = &ownListener{Listener: l, path: path}
		return nil
	})
	return own, err
}

// removeUnnamed removes a socket that an engine has left that died before it gave
// it a name. The directory must be locked.
func removeUnnamed(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func socketPath(dir, name string) (string, error) {
	if name == "" || strings.ContainsAny(name, "/\x00") || name[0] == '.' {
		return "", fmt.Errorf("%q cannot be the name of a socket", name)
	}
	room := maxPath - len(filepath.Join(dir, suffix))
	if room < min(len(name), 16) { // a shorter name would not be distinctive
		return "", errors.New("the path is too long for a socket")
	}
	return filepath.Join(dir, name[max(0, len(name)-room):]+suffix), nil
}

// probe reports whether a process listens at a socket, and removes a socket
// without one.
func probe(path string) (alive bool, err error) {
	if alive, dead, err := dial(path); !dead {
		return alive, err
	}
	// A new engine of the same run may have taken the name.
	err = whileLocked(filepath.Dir(path), func() error {
		var dead bool
		if alive, dead, err = dial(path); !dead {
			return err
		}
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil // its keeper was faster
	})
	return alive, err
}

// dial reports whether a process listens at a socket, or the process that did
// is dead.
func dial(path string) (alive, dead bool, err error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false, false, nil // the case of nearly every new run, and ten times as fast
	}
	conn, err := net.DialTimeout("unix", path, connectTime)
	switch {
	case err == nil:
		return true, false, conn.Close()
	case errors.Is(err, fs.ErrNotExist):
		return false, false, nil
	case errors.Is(err, syscall.ECONNREFUSED):
		return false, true, nil
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, os.ErrDeadlineExceeded):
		return true, false, nil // it is busy
	default:
		return false, false, err
	}
}

// whileLocked calls f while no other process can change the names in a
// directory of sockets.
func whileLocked(dir string, f func() error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := runtimedir.Flock(d, unix.LOCK_EX); err != nil {
		return err
	}
	return f()
}

// Find returns the sorted paths of the sockets in a directory at which an
// engine listens, and removes the others. A missing directory is no error.
func Find(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = runtimedir.Check(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look for runs in %q: %w", dir, err)
	}
	var found []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Name() == unnamed && e.Type() == fs.ModeSocket {
			_ = whileLocked(dir, func() error { return removeUnnamed(path) }) // the next engine that listens does it, too
		}
		if e.Type() != fs.ModeSocket || !strings.HasSuffix(path, suffix) {
			continue
		}
		alive, err := probe(path)
		if err != nil {
			return nil, fmt.Errorf("cannot look for runs in %q: %w", dir, err)
		}
		if alive {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found, nil
}
