package httpapi_test

import (
	"errors"
	"net"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"taskrun/engine/httpapi"
)

// An engine that is too busy to accept a connection is alive.
func TestABusyEngineIsAlive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(socketDir(t), "web-1.sock")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", path) // takes the only place in the queue
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if found, err := httpapi.Find(filepath.Dir(path)); err != nil || !slices.Equal(found, []string{path}) {
		t.Errorf("found %q, %v", found, err)
	}
	if _, _, err := httpapi.Listen(filepath.Dir(path), "web-1"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("listened: %v", err)
	}
}
