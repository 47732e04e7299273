package host

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/cmd/client"
	"taskrun/cmd/console"
	"taskrun/cmd/lookup"
	"taskrun/cmd/ui"
	"taskrun/drivers"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/datadir"
	"taskrun/jobspec/taskenv"
)

// finder finds the runs of a user whose directory for sockets is below a directory.
func finder(dir string) *lookup.Finder {
	streams, _, _ := ui.Test()
	streams.Env = func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": dir}[name] }
	return lookup.NewFinder(&console.Console{Streams: streams})
}

func TestServe(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "host") //nolint:usetesting // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	node := &taskenv.Node{}
	e := engine.New(engine.Config{DataDir: t.TempDir(), Node: node})
	defer func() { _ = e.Close(context.Background()) }()
	cfg := httpapi.Config{Node: node, Version: "1.2"}
	port, err := httpapi.ListenTCP("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	_, socket, warning, begin, end := Serve(finder(dir), e, httpapi.SocketName("web", os.Getpid()), port, cfg)
	if warning != "" || filepath.Dir(socket) != filepath.Join(dir, "taskrun") {
		t.Fatalf("socket %q, warning %q", socket, warning)
	}
	begin()
	begin()
	local, err := client.Local(socket)
	if err != nil {
		t.Fatal(err)
	}
	remote, err := client.Remote(client.Cluster{Address: "http://" + port.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*client.Server{local, remote} {
		if self, err := s.Self(t.Context()); err != nil || self.Version != "1.2" {
			t.Errorf("%v says %+v, %v", s, self, err)
		}
	}
	end()
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, err := remote.Self(t.Context()); err == nil {
		t.Error("the port still answers")
	}
}

// An engine that ends before it lets clients in leaves nothing.
func TestServeNobody(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "host") //nolint:usetesting // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	node := &taskenv.Node{}
	e := engine.New(engine.Config{DataDir: t.TempDir(), Node: node})
	defer func() { _ = e.Close(context.Background()) }()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, socket, _, begin, end := Serve(finder(dir), e, httpapi.SocketName("web", os.Getpid()), port, httpapi.Config{Node: node})
	end()
	begin()
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, err := port.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the port is open: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "taskrun")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "taskrun"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, socket, warning, _, end := Serve(finder(dir), e, "web", nil, httpapi.Config{Node: node})
	if end(); socket != "" || !strings.HasPrefix(warning, "other commands cannot reach this engine: ") {
		t.Errorf("without a directory: socket %q, warning %q", socket, warning)
	}
}

func TestPortDir(t *testing.T) {
	t.Parallel()
	for sockets, want := range map[string]string{"": "", "/s": "/s/ports"} {
		if got := PortDir(sockets); got != want {
			t.Errorf("%q: %q, want %q", sockets, got, want)
		}
	}
}

// pathDriver is a driver that mounts paths of the host.
type pathDriver struct {
	drivers.Driver

	find func(path string) (string, error)
}

func (*pathDriver) HostPaths(map[string]any) []drivers.HostPath { return nil }

func (d *pathDriver) SetHostPaths(find func(path string) (string, error)) { d.find = find }

// A folder of the data directory takes the place of a path of the host, unless tasks
// may use those of this machine.
func TestHostPathsOfDrivers(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	for _, hostPaths := range []bool{false, true} {
		d := &pathDriver{}
		JoinDrivers(map[string]drivers.Driver{"d": d}, keeper.New(), dataDir, hostPaths)
		if (d.find != nil) == hostPaths {
			t.Errorf("with host paths %v it has a function: %v", hostPaths, d.find != nil)
		}
		if hostPaths {
			continue
		}
		want, err := datadir.MakeHostPath(dataDir, "/srv")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.find("/srv"); got != want || err != nil {
			t.Errorf("/srv is at %q, %v, want %q", got, err, want)
		}
	}
}
