package dockertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// daemonTime is how long an engine may take to start or to stop.
const daemonTime = 60 * time.Second

// Daemon is an engine that a test may stop and start. It has its own network
// namespace, so its ports are not reachable.
type Daemon struct {
	Host string // its address, as DOCKER_HOST has it

	dir  string
	args []string
	cmd  *exec.Cmd // nil while it is stopped
}

// NeedDaemon starts an engine for a test, or skips the test.
func NeedDaemon(t testing.TB, args ...string) *Daemon {
	t.Helper()
	if err := CanStart(); err != nil {
		t.Skipf("docker: %v", err)
	}
	d, err := StartDaemon(args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// CanStart returns why no engine can be started here; nil if one can. Without an
// engine at DOCKER_HOST, none is started.
func CanStart() error {
	if _, err := Engine(); err != nil {
		return err
	}
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return errors.New("only root can start an engine, on Linux")
	}
	if _, err := exec.LookPath("dockerd"); err != nil {
		return errors.New("there is no dockerd to start")
	}
	return nil
}

// StartDaemon starts an engine with arguments and the Image. The caller must
// close it.
func StartDaemon(args ...string) (*Daemon, error) {
	dir, err := os.MkdirTemp("", "dk") // its path must be short for sockets
	if err != nil {
		return nil, err
	}
	d := &Daemon{Host: "unix://" + dir + "/sock", dir: dir, args: args}
	if err = d.Start(); err == nil {
		err = d.with(importBusybox)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// with calls do with a client of the engine.
func (d *Daemon) with(do func(context.Context, *client.Client) error) error {
	cli, err := client.New(client.WithHost(d.Host))
	if err != nil {
		return err
	}
	defer cli.Close()
	ctx, cancel := context.WithTimeout(context.Background(), daemonTime)
	defer cancel()
	return do(ctx, cli)
}

// Start starts the engine again, with other arguments if there are any.
func (d *Daemon) Start(args ...string) error {
	if len(args) > 0 {
		d.args = args
	}
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	// A killed engine leaves these. The next one would mistake any process with
	// the PID, even a zombie, for its own.
	for _, name := range []string{"pid", "exec/containerd/containerd.pid"} {
		_ = os.Remove(filepath.Join(d.dir, name))
	}
	cmd := exec.Command("dockerd", append([]string{
		"--host", d.Host, "--data-root", filepath.Join(d.dir, "data"), "--exec-root", filepath.Join(d.dir, "exec"),
		"--pidfile", filepath.Join(d.dir, "pid"), "--iptables=false", "--shutdown-timeout=5",
	}, d.args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = apart()
	if err := cmd.Start(); err != nil {
		return err
	}
	d.cmd = cmd
	for deadline := time.Now().Add(daemonTime); ; <-time.After(50 * time.Millisecond) {
		err := d.with(func(ctx context.Context, cli *client.Client) error {
			_, err := cli.Ping(ctx, client.PingOptions{})
			return err
		})
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(log.Name())
			return fmt.Errorf("the engine does not start: %w\n%s", err, said)
		}
	}
}

// Stop terminates the engine. Without --live-restore its containers end before
// it.
func (d *Daemon) Stop() error { return d.end(syscall.SIGTERM) }

// Kill kills the engine. Its containers continue until it starts again, or longer
// with --live-restore.
func (d *Daemon) Kill() error { return d.end(syscall.SIGKILL) }

func (d *Daemon) end(sig syscall.Signal) error {
	if d.cmd == nil {
		return nil
	}
	if err := d.cmd.Process.Signal(sig); err != nil {
		return err
	}
	kill := time.AfterFunc(daemonTime, func() { _ = d.cmd.Process.Kill() })
	defer kill.Stop()
	_ = d.cmd.Wait() // any exit code is fine
	d.cmd = nil
	return nil
}

// Close ends the engine with its containers, and removes its files.
func (d *Daemon) Close() error {
	var errs []error
	if d.cmd == nil {
		errs = append(errs, d.Start())
	}
	errs = append(errs, d.RemoveContainers(), d.Stop())
	return errors.Join(append(errs, unmount(d.dir), os.RemoveAll(d.dir))...)
}

// Containers returns the names of all containers.
func (d *Daemon) Containers() (names []string, err error) {
	err = d.with(func(ctx context.Context, cli *client.Client) error {
		names, err = namesOf(ctx, cli, "")
		return err
	})
	return names, err
}

// RemoveContainers removes all containers, as a user might by hand.
func (d *Daemon) RemoveContainers() error {
	return d.with(func(ctx context.Context, cli *client.Client) error {
		names, err := namesOf(ctx, cli, "")
		errs := []error{err}
		for _, name := range names {
			_, err := cli.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true})
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}
