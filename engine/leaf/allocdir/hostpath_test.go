package allocdir

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestHostPathsHaveAPlaceOfTheirOwn(t *testing.T) {
	t.Parallel()
	data, host := t.TempDir(), t.TempDir()
	file := filepath.Join(host, "conf")
	if err := os.WriteFile(file, []byte("real"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := MakeHostPath(data, file)
	if text, readErr := os.ReadFile(got); err != nil || readErr != nil || string(text) != "real" || got == file {
		t.Errorf("a file: %q with %q, %v, %v", got, text, err, readErr)
	}
	open, _ := filepath.Glob("/proc/self/fd/*") // none without /proc
	for _, fd := range open {
		if target, err := os.Readlink(fd); err == nil && target == file {
			t.Error("the file is still open")
		}
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
