package port_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/port"
)

// Another user's files in the directory of the port locks are neither followed nor
// read nor removed, and block no port.
func TestAForeignDirectoryOfLocks(t *testing.T) {
	t.Parallel()
	number := unused(t)
	precious := filepath.Join(leaktest.TempDir(t), strconv.Itoa(number))
	for name, plant := range map[string]func(ports string) error{
		"a link to a directory": func(ports string) error { return os.Symlink(filepath.Dir(precious), ports) },
		"a file":                func(ports string) error { return os.WriteFile(ports, nil, 0o600) },
		"a FIFO":                func(ports string) error { return unix.Mkfifo(ports, 0o600) },
		"others can write to it": func(ports string) error {
			if err := os.Mkdir(ports, 0o700); err != nil {
				return err
			}
			if err := os.Rename(precious, filepath.Join(ports, strconv.Itoa(number))); err != nil {
				return err
			}
			precious = filepath.Join(ports, strconv.Itoa(number))
			return os.Chmod(ports, 0o777)
		},
	} {
		if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		was := precious
		ports := filepath.Join(leaktest.TempDir(t), "ports")
		if err := plant(ports); err != nil {
			t.Fatal(err)
		}
		c := port.NewClaims(ports)
		if err := c.Static(number, "a"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c.Release(number)
		if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
			t.Errorf("%s: a file of that name has become %q, %v", name, text, err)
		}
		precious = was
	}
}

// The same holds for files with the name of a port.
func TestForeignLocks(t *testing.T) {
	t.Parallel()
	number := unused(t)
	target := filepath.Join(leaktest.TempDir(t), "target")
	for name, plant := range map[string]func(path string) error{
		"a link":      func(path string) error { return os.Symlink(target, path) },
		"a hard link": func(path string) error { return os.Link(target, path) },
		"a FIFO":      func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		ports := leaktest.TempDir(t)
		path := filepath.Join(ports, strconv.Itoa(number))
		if err := plant(path); err != nil {
			t.Fatal(err)
		}
		c := port.NewClaims(ports)
		if err := c.Static(number, "a"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c.Release(number)
		if text, err := os.ReadFile(target); err != nil || string(text) != "precious" {
			t.Errorf("%s: its target has become %q, %v", name, text, err)
		}
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s is removed", name)
		}
	}
}
