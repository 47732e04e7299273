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
	// maxPath is how long the path of a socket may be, in bytes: darwin's
	// sun_path has 104 with the final zero.
	maxPath = 103
	// connectTime is how long a live engine may take to accept.
	connectTime = time.Second
)

// SocketName names the socket of a run: <job>-<pid>, with what a client could
// not put into an address (unix://…) replaced.
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

// PID returns the process that serves a socket, by the socket's name; 0 when the
// name is none of SocketName.
func PID(path string) int {
	name := strings.TrimSuffix(filepath.Base(path), suffix)
	pid, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil {
		return 0
	}
	return pid
}

// Listen makes a socket for the user alone, in a directory for the user alone,
// and returns it with its path. A long name is shortened, at its beginning, to
// what a socket's path may be. A socket that a dead engine left is replaced;
// one that is listened to is an error.
func Listen(dir, name string) (net.Listener, string, error) {
	path, err := socketPath(dir, name)
	if err != nil {
		return nil, "", fmt.Errorf("cannot listen in %q: %w", dir, err)
	}
	if err := runtimedir.Make(dir); err != nil {
		return nil, "", fmt.Errorf("cannot listen in %q: %w", dir, err)
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

// listen gives the socket its name when it can be connected to: before, Find
// would take it for one that a dead engine left.
func listen(path string) (net.Listener, error) {
	unnamed := filepath.Join(filepath.Dir(path), "."+strconv.Itoa(os.Getpid()))
	if err := os.Remove(unnamed); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", unnamed)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // by the name that it had
	err = os.Chmod(unnamed, 0o600)                // until here the directory has kept others away
	if err == nil {
		err = whileLocked(filepath.Dir(path), func() error { return os.Rename(unnamed, path) })
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(unnamed))
	}
	return &ownListener{Listener: l, path: path}, nil
}

func socketPath(dir, name string) (string, error) {
	if name == "" || strings.ContainsAny(name, "/\x00") || name[0] == '.' {
		return "", fmt.Errorf("%q cannot be the name of a socket", name)
	}
	room := maxPath - len(filepath.Join(dir, suffix))
	if room < min(len(name), 16) { // less would not tell one from another
		return "", errors.New("the path is too long for a socket")
	}
	return filepath.Join(dir, name[max(0, len(name)-room):]+suffix), nil
}

// probe reports whether a process listens to a socket, and removes one that no
// process listens to.
func probe(path string) (alive bool, err error) {
	if alive, dead, err := dial(path); !dead {
		return alive, err
	}
	// A new engine of the same run may have taken the name meanwhile.
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

// dial reports whether a process listens to a socket, or has died that did.
func dial(path string) (alive, dead bool, err error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false, false, nil // as for nearly every new run, and ten times as fast
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

// whileLocked calls f while no other process changes the names in a directory of
// sockets.
func whileLocked(dir string, f func() error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		err = unix.Flock(int(d.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return err
	}
	return f()
}

// Find returns the paths of the sockets in a directory that an engine listens
// to, sorted, and removes the others. No directory is no error.
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
