package podman

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"taskrun/drivers/docker/daemon"
)

// errNoPodman says that Podman has no socket where it usually is.
var errNoPodman = errors.New("no Podman was found")

// dialTime is how long a socket may take to accept a connection.
const dialTime = time.Second

// find returns the engine at host or, if that is empty, at CONTAINER_HOST or at
// the socket of the user's own Podman or of root's.
func find(host string, env func(string) string, uid int) (daemon.Endpoint, error) {
	if host = cmp.Or(host, env("CONTAINER_HOST")); host != "" {
		return at(host, uid)
	}
	runtimeDir := cmp.Or(env("XDG_RUNTIME_DIR"), filepath.Join("/run/user", strconv.Itoa(uid)))
	for _, path := range []string{filepath.Join(runtimeDir, "podman", "podman.sock"), "/run/podman/podman.sock"} {
		err := check(path, uid)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || err == nil && !accepts(path) {
			continue // a service that is not running leaves its socket behind
		}
		return daemon.Endpoint{Host: "unix://" + path, Verify: true}, err
	}
	return daemon.Endpoint{}, errNoPodman
}

// at returns the engine at a host, which may be the path of a socket.
func at(host string, uid int) (daemon.Endpoint, error) {
	path := host
	if rest, ok := strings.CutPrefix(host, "unix:"); ok {
		path = "/" + strings.TrimLeft(rest, "/")
	}
	if !filepath.IsAbs(path) {
		return daemon.Endpoint{Host: host, Verify: true}, nil
	}
	err := check(path, uid)
	if errors.Is(err, fs.ErrNotExist) { // the service may start later
		err = nil
	}
	return daemon.Endpoint{Host: "unix://" + path, Verify: true}, err
}

// check returns an error if a path is no socket, or one of another user: its
// containers would run with that user's rights.
func check(path string, uid int) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot use the socket of Podman: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("cannot use the socket of Podman: %q is not a socket", path)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if owner := int(stat.Uid); ok && owner != uid && owner != 0 {
		return fmt.Errorf("cannot use the socket of Podman: %q belongs to user %s, not to you; start your own with podman system service, or set CONTAINER_HOST",
			path, userName(owner))
	}
	return nil
}

func userName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return strconv.Quote(u.Username)
	}
	return id
}

// accepts reports whether a socket accepts a connection of this user.
func accepts(path string) bool {
	conn, err := net.DialTimeout("unix", path, dialTime)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
