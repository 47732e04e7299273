package textfile

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

// A pipe, stdout and stderr, to which Save writes directly, need no folder in which
// a file can be made, even if their files are gone. A file that is replaced does.
func TestCheckWithoutAFolder(t *testing.T) {
	t.Parallel()
	const key = "TEXTFILE_CHECK_OUTPUT"
	if os.Getenv(key) != "" { // stdin is a pipe; stdout, stderr and another file are deleted
		for fd, want := range []bool{true, true, true, false} {
			if err := Check("/proc/self/fd/" + strconv.Itoa(fd)); (err == nil) != want {
				t.Errorf("file descriptor %d: %v", fd, err)
			}
		}
		if err := Check("/proc/self/comm"); err == nil {
			t.Error("a file can be made in /proc")
		}
		os.Stderr.WriteString("before, ")
		if err := Save("/proc/self/fd/2", []byte("and the text")); err != nil {
			t.Error(err)
		}
		return
	}
	var files []*os.File
	for range 3 {
		f, err := os.CreateTemp(leaktest.TempDir(t), "")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := os.Remove(f.Name()); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCheckWithoutAFolder$", "-test.v")
	cmd.Env = append(os.Environ(), key+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = strings.NewReader(""), files[0], files[1], files[2:]
	err := cmd.Run()
	var said [2]string
	for i, f := range files[:2] {
		text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		said[i] = string(text)
	}
	if err != nil || !strings.Contains(said[0], "--- PASS: TestCheckWithoutAFolder") || said[1] != "before, and the text" {
		t.Errorf("%v: %q", err, said)
	}
}
