package datadir

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

func TestHostPathsHaveAPlaceOfTheirOwn(t *testing.T) {
	t.Parallel()
	data, host := leaktest.TempDir(t), leaktest.TempDir(t)
	file := filepath.Join(host, "conf")
	if err := os.WriteFile(file, []byte("real"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := MakeHostPath(data, file)
	if text, readErr := os.ReadFile(got); err != nil || readErr != nil || string(text) != "real" || got == file {
		t.Errorf("a file: %q with %q, %v, %v", got, text, err, readErr)
	}
	if open := leaktest.Open(host); len(open) > 0 {
		t.Errorf("still open: %q", open)
	}
	for _, path := range []string{host, filepath.Join(host, "missing", "folder"), "/"} {
		got, err := MakeHostPath(data, path)
		info, statErr := os.Stat(got)
		if err != nil || statErr != nil || !info.IsDir() || got == path {
			t.Errorf("%q: %q, %v, %v", path, got, err, statErr)
		}
	}
	if err := os.WriteFile(filepath.Join(HostPathDir(data, host), "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := MakeHostPath(data, host); err != nil || got != HostPathDir(data, host) {
		t.Errorf("again: %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(host, "kept")); err == nil {
		t.Error("the machine's own folder was written")
	}
	short, err := os.MkdirTemp("", "tr") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	l, err := net.Listen("unix", filepath.Join(short, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got, err := MakeHostPath(data, filepath.Join(short, "s")); got != "" || err != nil {
		t.Errorf("a socket: %q, %v", got, err)
	}
}

// Tasks of any user may write to an empty directory, a copy has the mode of its
// file, and other users cannot enter either.
func TestModesOfHostPaths(t *testing.T) {
	t.Parallel()
	data, host := leaktest.TempDir(t), leaktest.TempDir(t)
	file := filepath.Join(host, "deep", "run")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o750); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{file: 0o750, filepath.Join(host, "none", "deep"): 0o777 | os.ModeDir} {
		got, err := MakeHostPath(data, path)
		if info, statErr := os.Stat(got); err != nil || statErr != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, %v, %v", path, info.Mode(), err, statErr)
		}
	}
	if info, err := os.Stat(filepath.Join(data, "host")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory of them all: %v, %v", info.Mode(), err)
	}
}

// A file that cannot be copied, and a place that is taken, are errors.
func TestHostPathsThatHaveNoPlace(t *testing.T) {
	t.Parallel()
	host := leaktest.TempDir(t)
	sized := func(name string, size int64) string {
		path := filepath.Join(host, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fits, large := sized("fits", 16<<20), sized("large", 16<<20+1)
	data := leaktest.TempDir(t)
	got, err := MakeHostPath(data, fits)
	if info, statErr := os.Stat(got); err != nil || statErr != nil || info.Size() != 16<<20 {
		t.Errorf("the largest file: %v, %v", err, statErr)
	}
	if got, err := MakeHostPath(data, large); err == nil || !strings.Contains(err.Error(), "the file is too large to copy") || got != "" {
		t.Errorf("a larger one: %q, %v", got, err)
	}
	if _, err := os.Stat(HostPathDir(data, large)); err == nil {
		t.Error("a part of it was copied")
	}
	if err := os.WriteFile(HostPathDir(data, filepath.Join(host, "taken")), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(host, "taken", "x")
	if got, err := MakeHostPath(data, below); err == nil || !strings.HasPrefix(err.Error(), `cannot make the directory for host path "`+below+`"`) || got != "" {
		t.Errorf("below a file: %q, %v", got, err)
	}
	file := filepath.Join(leaktest.TempDir(t), "host")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := MakeHostPath(filepath.Dir(file), host); err == nil || got != "" {
		t.Errorf("without a directory for them: %q, %v", got, err)
	}
	fifo := filepath.Join(host, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{fifo: "it is no longer a regular file", host: "it is no longer a regular file", filepath.Join(host, "none"): "no such file"} {
		if text, err := readRegular(path); err == nil || !strings.Contains(err.Error(), want) || text != nil {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
}
