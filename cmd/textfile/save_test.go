package textfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"taskrun/engine/leaf/leaktest"
)

func TestSave(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	name := filepath.Join(dir, "report.xml")
	for i, text := range []string{"first and long", "second", ""} {
		if err := Save(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != text {
			t.Errorf("the file has %q, %v", got, err)
		}
		if i == 0 {
			if err := os.Chmod(name, 0o600); err != nil {
				t.Fatal(err)
			}
		} else if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
			t.Errorf("the mode has changed: %v, %v", info, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
	if err := Save(filepath.Join(dir, "none", "a"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the folder: %v", err)
	}
	if err := Save(dir, nil); err == nil {
		t.Error("a folder was replaced")
	}
}

// What is not regular is written to, and never replaced.
func TestSaveToAPipe(t *testing.T) {
	t.Parallel()
	name := filepath.Join(leaktest.TempDir(t), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(name, []byte("x")); !errors.Is(err, syscall.ENXIO) { // and does not wait for a reader
		t.Errorf("without a reader: %v", err)
	}
	pipe, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := Write(name, []byte("x")); !errors.Is(err, errNotRegular) {
		t.Errorf("with a reader: %v", err)
	}
	if err := Save(name, []byte("text")); err != nil {
		t.Error(err)
	}
	if err := pipe.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 10)
	if n, err := pipe.Read(got); err != nil || string(got[:n]) != "text" {
		t.Errorf("the pipe has %q, %v", got[:n], err)
	}
}
