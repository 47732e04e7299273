package keeper

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// deadRecord writes the record of a dead run with a socket.
func deadRecord(t *testing.T, path, socket string) {
	t.Helper()
	text := fmt.Sprintf("program 1 1 %s\nsocket %q\n", bootID(), socket)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func private(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sockets")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Records count only in a private directory of the user.
func TestRecordsInAnotherUsersDirectory(t *testing.T) {
	t.Parallel()
	good := private(t)
	deadRecord(t, filepath.Join(good, "1-1.run"), "/nonexistent")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	open := private(t)
	deadRecord(t, filepath.Join(open, "1-1.run"), "/nonexistent")
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	for dir, ok := range map[string]bool{good: true, link: false, open: false} {
		dead, err := FindDead(dir)
		if ok != (err == nil && len(dead) == 1) {
			t.Errorf("%s: %d runs, %v", dir, len(dead), err)
		}
		for _, d := range dead {
			_ = d.Close()
		}
	}
}

// Only a regular, private file of the user is a record.
func TestRecordsOfAnotherUser(t *testing.T) {
	t.Parallel()
	dir, elsewhere := private(t), filepath.Join(t.TempDir(), "elsewhere")
	deadRecord(t, elsewhere, "/nonexistent")
	at := func(name string) string { return filepath.Join(dir, name+suffix) }
	deadRecord(t, at("writable"), "/nonexistent")
	for _, err := range []error{
		os.Symlink(elsewhere, at("link")), os.Link(elsewhere, at("name")), unix.Mkfifo(at("fifo"), 0o600),
		os.Mkdir(at("dir"), 0o700), os.Chmod(at("writable"), 0o666),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if dead, err := FindDead(dir); err != nil || len(dead) > 0 {
		t.Errorf("%d runs, %v", len(dead), err)
	}
	if sockets := Sockets(dir); len(sockets) > 0 {
		t.Errorf("sockets %q", sockets)
	}
}

// Of the paths that a record lists as sockets, only sockets are removed.
func TestRecordRemovesOnlySockets(t *testing.T) {
	t.Parallel()
	dir, target := private(t), filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	socket.SetUnlinkOnClose(false)
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "s"), link); err != nil {
		t.Fatal(err)
	}
	for i, path := range []string{target, link} {
		deadRecord(t, filepath.Join(dir, fmt.Sprint(i)+suffix), path)
	}
	dead, err := FindDead(dir)
	if err != nil || len(dead) != 2 {
		t.Fatalf("%d runs, %v", len(dead), err)
	}
	for _, d := range dead {
		if _, err := d.Sweep(t.Context(), nil, true); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{target, link} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s is removed", path)
		}
	}
}
