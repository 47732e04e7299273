package textfile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/leaktest"
)

// A file that cannot be written stays as it is, and nothing is left beside it.
// The limit of file sizes, which simulates a full disk, is for the whole process.
func TestWriteOnAFullDisk(t *testing.T) { //nolint:paralleltest // see above
	const key = "TEXTFILE_FULL_DISK"
	dir := os.Getenv(key)
	if dir == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWriteOnAFullDisk$", "-test.v")
		cmd.Env = append(os.Environ(), key+"="+leaktest.TempDir(t))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestWriteOnAFullDisk") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	name := filepath.Join(dir, "a.hcl")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	var whole unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &whole); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 4, Max: whole.Max}); err != nil {
		t.Fatal(err)
	}
	err := Write(name, []byte("new and long"))
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &whole); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, unix.EFBIG) {
		t.Errorf("error %v, want %v", err, unix.EFBIG)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "old" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}
