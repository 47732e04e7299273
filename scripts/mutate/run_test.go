package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == guardArg {
		os.Exit(guard(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// module writes a module whose package a has a tested function, one that only
// tests of an importer check, and an untested one.
func module(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	files := map[string]string{
		"go.mod":      "module m\n\ngo 1.26\n",
		"a/a.go":      "package a\n\nfunc Tested(x, y int) int { return x + y }\n\nfunc Seen(p *int) { *p = 3 }\n\nfunc Unseen(x, y int) bool { return x != y }\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc Test(t *testing.T) {\n\tif Tested(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n",
		"b/b.go":      "package b\n\nimport \"m/a\"\n\nvar B = a.Seen\n",
		"b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc Test(t *testing.T) {\n\tvar x int\n\tif B(&x); x != 3 {\n\t\tt.Fatal()\n\t}\n}\n",
	}
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "off")
}

// A run reports the mutants that survive the tests of the package and of its
// importers, does not change the source tree, and continues an earlier run.
func TestRun(t *testing.T) {
	module(t)
	before, err := os.ReadFile("a/a.go")
	if err != nil {
		t.Fatal(err)
	}
	o := options{seed: 1, n: 100, parallel: 2, packages: "./...", timeout: time.Minute, results: "results"}
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	want := []string{
		"a/a.go:3:38 Tested: negate `+` → `-`", "a/a.go:3:36 Tested: return `x + y` → `0`",
		"a/a.go:5:21 Seen: drop `*p = 3`",
	}
	for _, m := range want {
		if !strings.Contains(out.String(), "caught     "+m) {
			t.Errorf("%s was not caught", m)
		}
	}
	if !strings.Contains(out.String(), "--- FAIL: Test (") {
		t.Error("the test that caught a mutant is not named")
	}
	if n := strings.Count(out.String(), "\nsurvived: a/a.go:7:"); n != 2 {
		t.Errorf("%d survivors, want 2", n)
	}
	if !strings.Contains(out.String(), "all      5        3       2         60\n") {
		t.Error("the table is not as expected")
	}
	if after, err := os.ReadFile("a/a.go"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the tree has changed: %v", err)
	}
	if t.Failed() {
		t.Logf("%s", &out)
	}

	// The second run needs no tests: it has all results.
	tr := &trial{out: &out, known: map[string]result{}}
	file, err := tr.resume("results")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if len(tr.known) != 5 {
		t.Errorf("%d results were kept, want 5", len(tr.known))
	}
}

// Every mutant of one line is tried, and no other.
func TestLine(t *testing.T) {
	module(t)
	var out bytes.Buffer
	o := options{packages: "./...", timeout: time.Minute, parallel: 1, at: "a/a.go:3"}
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if !strings.Contains(out.String(), "all      2        2       0         100\n") {
		t.Errorf("%s", &out)
	}
	out.Reset()
	o.at, o.own = "a/a.go:5", true
	if err := run(t.Context(), o, &out); err != nil || !strings.Contains(out.String(), "all      1        0       1         0\n") {
		t.Errorf("without the importers: %v\n%s", err, &out)
	}
	o.at = "a/a.go:2"
	if err := run(t.Context(), o, &out); err == nil {
		t.Error("an empty line has mutants")
	}
}

// If tests fail without a mutant they prove nothing, so the run ends.
func TestUnmutated(t *testing.T) {
	module(t)
	if err := os.WriteFile("a/b_test.go", []byte("package a\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { t.Fatal() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), options{n: 1, packages: "./a", timeout: time.Minute}, new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "without a mutant") {
		t.Errorf("error %v", err)
	}
}

// A command is killed at its time limit, with the processes it left behind.
func TestGuard(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc")
	}
	// The orphan has its own session and holds the pipe; its end closes it.
	tests := map[string]struct {
		script string
		limit  time.Duration
	}{
		"left behind": {"setsid sh -c 'sleep 600 & sleep 600' & exit 0", time.Minute},
		"too long":    {"setsid sleep 600 & sleep 600", time.Second},
		"suicidal":    {"group=$(cut -d' ' -f5 /proc/$$/stat); setsid sh -c \"sleep 600 & kill -9 -$group; wait\"", time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), test.limit)
			defer cancel()
			cmd := exec.CommandContext(ctx, self, guardArg, "sh", "-c", test.script)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that it is not this process that dies
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
			cmd.ExtraFiles = []*os.File{w}
			err = cmd.Run()
			w.Close()
			if (err == nil) != (name == "left behind") {
				t.Errorf("error %v", err)
			}
			if err := r.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
				t.Errorf("a process still has the pipe: %v", err)
			}
		})
	}
}

// Each equivalent mutant has a reason.
func TestEquivalents(t *testing.T) {
	if _, err := readEquivalents(equivalentText); err != nil {
		t.Error(err)
	}
	if _, err := readEquivalents("a.go f: drop `x`\n"); err == nil {
		t.Error("an equivalent without reason was read")
	}
	got, err := readEquivalents("# a comment\n\na.go f: drop `x` # why\n")
	if err != nil || len(got) != 1 || got["a.go f: drop `x`"] != "why" {
		t.Errorf("%v, %v", got, err)
	}
}
