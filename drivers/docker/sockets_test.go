package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/types/network"

	"taskrun/drivers"
)

// pause makes a container run the program of its image, in the network of this
// machine. A shell writes it, so that no other process has it open for writing.
func (e *fakeEngine) pause(c *fakeContainer) error {
	archive := tar.NewReader(bytes.NewReader(e.imported))
	if _, err := archive.Next(); err != nil {
		return err
	}
	program, err := io.ReadAll(archive)
	if err != nil {
		return err
	}
	for _, m := range c.HostConfig.Mounts {
		if err := os.Symlink(m.Source, filepath.Join(e.root, m.Target)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	c.cmd.Path, c.cmd.Args = "/bin/sh", []string{"sh", "-c", "cat > pause && chmod +x pause && exec ./pause"}
	c.cmd.Dir, c.cmd.Stdin, c.cmd.Err = e.root, bytes.NewReader(program), nil
	return nil
}

// The engine listens and connects in the network of a group, even after the
// container that holds it was started again.
func TestNetworkIsUsed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("no such container runs here")
	}
	e := newFakeEngine(t)
	e.arch, e.root = runtime.GOARCH, t.TempDir()
	d := e.driver(t)
	n, err := d.CreateNetwork(t.Context(), &drivers.NetworkRequest{AllocID: "alloc", AllocDir: filepath.Join(t.TempDir(), "alloc"), Mode: "bridge"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := d.ListenIn(t.Context(), n, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "hello")
			_ = conn.Close()
		}
	}()
	greeting := func() string {
		conn, err := d.DialIn(t.Context(), n, l.Addr().String())
		if err != nil {
			return err.Error()
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		text, _ := io.ReadAll(conn)
		return string(text)
	}
	if got := greeting(); got != "hello" {
		t.Errorf("it says %q", got)
	}
	if _, err := d.ListenIn(t.Context(), n, l.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "cannot listen at 127.0.0.1:") {
		t.Errorf("twice: %v", err)
	}

	c, before := e.only(t), l.Addr().String()
	e.set(func() { e.end(c) })
	e.await(t, func() bool { return !c.State.Running })
	cli, _ := d.connect()
	if revived, err := d.revive(t.Context(), cli, n, 0); !revived || err != nil || l.Addr().String() == before {
		t.Errorf("it is started again: %t, %v; it listens at %s", revived, err, l.Addr())
	}
	if got := greeting(); got != "hello" {
		t.Errorf("then it says %q", got)
	}
	at := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	<-served
	// A process that is being forked has the listener until it executes its program.
	conn, err := d.DialIn(t.Context(), n, at)
	for limit := time.Now().Add(20 * time.Second); err == nil && time.Now().Before(limit); {
		_ = conn.Close()
		conn, err = d.DialIn(t.Context(), n, at)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after its end: %v", err)
	}
	if err := d.listenAgain(t.Context(), n); err != nil {
		t.Error(err)
	}
}

// When all tasks of a group find that their network has ended, one of them
// restarts it, and all of them start. A restart that fails is tried again.
func TestTasksReviveTheirNetwork(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("no such container runs here")
	}
	e := newFakeEngine(t)
	e.arch, e.root, e.together = runtime.GOARCH, t.TempDir(), 4
	d := e.driver(t)
	n, err := d.CreateNetwork(t.Context(), &drivers.NetworkRequest{AllocID: "alloc", AllocDir: filepath.Join(t.TempDir(), "alloc"), Mode: "bridge"})
	if err != nil {
		t.Fatal(err)
	}
	group := e.only(t)
	l, err := d.ListenIn(t.Context(), n, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e.set(func() { e.end(group) })
	e.await(t, func() bool { return !group.State.Running })
	var starting sync.WaitGroup
	for range e.together {
		cfg, _ := taskOf(t, d, script("sleep 1000"))
		cfg.Network = n
		t.Cleanup(func() { _ = d.DestroyTask(cfg.ID, true) })
		starting.Go(func() {
			if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	if starts := e.requests("POST /containers/" + group.ID + "/start"); len(starts) != 2 || e.refused != e.together {
		t.Errorf("the network is started %d times; %d tasks were refused", len(starts), e.refused)
	}

	e.set(func() { e.end(group) })
	e.await(t, func() bool { return !group.State.Running })
	cli, _ := d.connect()
	n.Sockets = "" // nobody can listen
	if revived, err := d.revive(t.Context(), cli, n, 1); revived || err == nil {
		t.Errorf("without sockets it is revived: %t, %v", revived, err)
	}
	e.await(t, func() bool { return !group.State.Running })
}

// Networks and addresses of other kinds are refused.
func TestNetworkCannotBeUsed(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	missing := &drivers.NetworkIsolation{Sockets: filepath.Join(t.TempDir(), "net")}
	for _, c := range []struct {
		n       *drivers.NetworkIsolation
		address string
		want    string
	}{
		{&drivers.NetworkIsolation{}, "127.0.0.1:1", "has no address"},
		{missing, "[::1]:1", "it is no IPv4 address"},
		{missing, "localhost:1", "unable to parse IP"},
		{missing, "127.0.0.1:1", "cannot open a socket in the network of the group: open "},
	} {
		if _, err := d.ListenIn(ctx, c.n, c.address); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("listening at %s: %v", c.address, err)
		}
		if _, err := d.DialIn(ctx, c.n, c.address); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("connecting to %s: %v", c.address, err)
		}
	}
}

// The container that holds a network hands out sockets if it has an address, runs
// this program's image, and is on this machine.
func TestNetworksWithSockets(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode, image, system string
		sockets, ip         bool
	}{
		"a bridge":             {"bridge", "", "Debian", true, true},
		"no network":           {"none", "", "Debian", false, false},
		"another image":        {"bridge", "image:1", "Debian", false, true},
		"in a virtual machine": {"bridge", "", "Docker Desktop", false, true},
	} {
		e := newFakeEngine(t)
		e.set(func() { e.networks["bridge"] = network.Inspect{Network: network.Network{Name: "bridge", ID: "bridge"}} })
		e.answer("GET /info", -1, 200, `{"OperatingSystem":"`+tt.system+`"}`)
		d := e.driver(t)
		d.options.InfraImage = tt.image
		dir := filepath.Join(t.TempDir(), "alloc")
		n, err := d.CreateNetwork(t.Context(), &drivers.NetworkRequest{AllocID: "alloc", AllocDir: dir, Mode: tt.mode})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := ""
		if tt.sockets {
			want = filepath.Join(filepath.Dir(dir), ".staging-alloc", "net")
		}
		if n.Sockets != want || (n.IP != "") != tt.ip || (n.Interface == "eth0") != tt.ip || (n.Gateway != "") != tt.ip {
			t.Errorf("%s: %+v, want sockets in %q", name, n, want)
		}
	}
}

// A network that is gone has no restarts to remember.
func TestNetworkIsForgotten(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	n, err := d.CreateNetwork(t.Context(), &drivers.NetworkRequest{AllocID: "alloc", Mode: "none"})
	if err != nil {
		t.Fatal(err)
	}
	cli, _ := d.connect()
	if _, err := d.revive(t.Context(), cli, n, 0); err != nil || len(d.revived) != 1 {
		t.Errorf("%d networks, %v", len(d.revived), err)
	}
	if err := d.DestroyNetwork(t.Context(), n); err != nil || len(d.revived) != 0 {
		t.Errorf("%d networks are remembered, %v", len(d.revived), err)
	}
}
