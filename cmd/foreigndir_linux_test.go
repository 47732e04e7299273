package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Another user has taken the name of the socket directory in the directory for
// temporary files, and has put files into it that should make taskrun read,
// remove or show something. Every command must work all the same, and must not
// touch these files.
func TestSocketDirectoryOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be two users")
	}
	const attacker = nobody - 1
	s := setUp(t, nobody, "exec SLEEP")
	tmp, err := os.MkdirTemp("/tmp", "taskrun") //nolint:usetesting // too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	foreign := filepath.Join(tmp, "taskrun-"+strconv.Itoa(nobody))
	precious := s.path("precious")
	const evil = "\x1b[2J\x1b]0;owned\a"
	do := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	do(os.Chmod(tmp, 0o777|os.ModeSticky), os.Mkdir(precious, 0o700), os.Mkdir(foreign, 0o700))
	for _, name := range []string{"20000", "notes.run"} {
		do(os.WriteFile(filepath.Join(precious, name), []byte("program 1 1 x\nsocket \""+filepath.Join(precious, "20000")+"\"\n"), 0o600))
		do(os.Chown(filepath.Join(precious, name), nobody, -1))
	}
	do(os.Chown(precious, nobody, -1))
	do(
		os.Symlink(precious, filepath.Join(foreign, "ports")),
		os.Symlink(filepath.Join(precious, "notes.run"), filepath.Join(foreign, "1-1.run")),
		os.Link(filepath.Join(precious, "notes.run"), filepath.Join(foreign, "3-3.run")),
		unix.Mkfifo(filepath.Join(foreign, "2-2.run"), 0o666),
		unix.Mkfifo(filepath.Join(foreign, "web-2.sock"), 0o666),
		os.WriteFile(filepath.Join(foreign, evil+".run"), []byte(evil), 0o666),
		os.Chown(foreign, attacker, -1), os.Chmod(foreign, 0o777),
	)
	taskrun := func(args ...string) string {
		t.Helper()
		c := s.command(args...)
		c.Env = append(slices.DeleteFunc(c.Env, func(kv string) bool { return strings.HasPrefix(kv, "XDG_RUNTIME_DIR=") }), "TMPDIR="+tmp)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("taskrun %q: %v\n%s", args, err, out)
		}
		if strings.Contains(string(out), "\x1b") {
			t.Errorf("taskrun %q shows what was planted: %q", args, out)
		}
		return string(out)
	}
	before := tree(t, foreign) + tree(t, precious)
	taskrun("up", "--detach", "job.nomad.hcl")
	t.Cleanup(func() { taskrun("stop") })
	s.until(t, patience, "the task runs", func() bool { return len(s.sleepers()) > 0 })
	if out := taskrun("ps"); !strings.Contains(out, "orphans") {
		t.Errorf("ps does not show the run:\n%s", out)
	}
	if out := taskrun("exec", "t", "--", "echo", "in the task"); !strings.Contains(out, "in the task") {
		t.Errorf("exec: %s", out)
	}
	taskrun("clean")
	if after := tree(t, foreign) + tree(t, precious); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	others, err := os.ReadDir(tmp)
	do(err)
	own := 0
	for _, e := range others {
		info, err := e.Info()
		do(err)
		if strings.HasPrefix(e.Name(), "taskrun-") && info.Sys().(*syscall.Stat_t).Uid == nobody && info.IsDir() {
			own++
			if info.Mode().Perm() != 0o700 {
				t.Errorf("%s has mode %v", e.Name(), info.Mode())
			}
		}
	}
	if own != 1 {
		t.Errorf("%d directories of the user are in %v", own, others)
	}
}

// tree lists the files in a directory.
func tree(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("ls", "-lAR", "--time-style=full-iso", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
