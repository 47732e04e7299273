package podman

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The engine is that of the option, of CONTAINER_HOST, or a Podman that accepts
// connections. A socket of another user is refused, and so is another file.
func TestFind(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "pm") //nolint:usetesting // its path must be short for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listen := func(name string) string {
		t.Helper()
		path := filepath.Join(dir, name, "podman", "podman.sock")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return path
	}
	live := listen("live")
	stale := listen("stale")
	if l, err := net.Listen("unix", stale+"2"); err == nil {
		l.(*net.UnixListener).SetUnlinkOnClose(false) //nolint:forcetypeassert // it is one
		_ = l.Close()
		_ = os.Rename(stale+"2", stale)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	uid := os.Getuid()
	for name, c := range map[string]struct {
		host, env, runtime string
		uid                int
		want, fails        string
	}{
		"option":             {host: live, env: "unix:///nowhere", uid: uid, want: "unix://" + live},
		"environment":        {env: "unix:" + live, uid: uid, want: "unix://" + live},
		"over a network":     {env: "tcp://10.0.0.1:1", uid: uid, want: "tcp://10.0.0.1:1"},
		"of the user":        {runtime: filepath.Join(dir, "live"), uid: uid, want: "unix://" + live},
		"not there yet":      {env: "unix:///not/there", uid: uid, want: "unix:///not/there"},
		"no socket":          {env: file, uid: uid, fails: `"` + file + `" is not a socket`},
		"of somebody else":   {env: live, uid: uid + 1, fails: `"` + live + `" belongs to user`},
		"found, of somebody": {runtime: filepath.Join(dir, "live"), uid: uid + 1, fails: "belongs to user"},
	} {
		if uid == 0 && strings.Contains(c.fails, "belongs to") {
			if err := os.Chown(live, 1234, -1); err != nil { // root's own are for everybody
				t.Fatal(err)
			}
			c.uid = 0
		}
		env := map[string]string{"CONTAINER_HOST": c.env, "XDG_RUNTIME_DIR": c.runtime}
		engine, err := find(c.host, func(name string) string { return env[name] }, c.uid)
		if c.fails == "" && (err != nil || engine.Host != c.want) || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s: %+v, %v", name, engine, err)
		}
		if uid == 0 {
			_ = os.Chown(live, 0, -1)
		}
	}
	if accepts(stale) || !accepts(live) {
		t.Error("a socket without a service is used")
	}
}
