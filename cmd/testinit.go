package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"taskrun/cmd/bubble"
	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/scaffold"
	"taskrun/cmd/verdict"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/visible"
)

// initTest writes the first test file of a job beside its file.
func initTest(ctx context.Context, a *app, opts testOptions) error {
	name := opts.init
	if name == "-" || strings.Contains(name, "://") {
		return exit.Usage("cannot write a test file beside %q: it is not a file", name)
	}
	path := testFileOf(name)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return exit.Usage("cannot write %q: the file exists", path).WithHint("add runs to it, or remove it first")
	}
	dirs, remove, err := makeTestDirs(a)
	if err != nil {
		return err
	}
	defer remove()
	run := &jobtest.Run{Name: "first", Mode: jobtest.Virtual}
	job, diagnostics, err := a.player(opts.Options, dirs.virtual).Prepare(ctx, &jobtest.File{Path: path, Job: name, Stubs: stub.Find(name)}, run)
	if err != nil {
		return err
	}
	if err := a.ShowDiagnostics(opts.format, sourcesOf([]*testFile{{File: &jobtest.File{Job: name}}}), diagnostics.Errors()); err != nil {
		return err
	}
	if job == nil {
		return exit.Silent(verdict.Usage)
	}
	text := scaffold.Job{Job: job.Job, File: filepath.Base(name), Began: bubble.Begin}.Text()
	if err := writeNew(path, text); err != nil {
		return fmt.Errorf("cannot write %q: %w", path, err)
	}
	_, err = fmt.Fprintf(a.Streams.Out, "%s has %d runs: taskrun test %s\n", visible.String(path), strings.Count(string(text), "\nrun "), visible.String(console.ShellWord(path)))
	return err
}

// testFileOf returns the name of the test file of a job file, beside it.
func testFileOf(name string) string {
	for _, suffix := range []string{".nomad.hcl", ".nomad.json", ".nomad", ".hcl", ".json"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && filepath.Base(base) != suffix {
			return base + jobtest.Suffix
		}
	}
	return name + jobtest.Suffix
}

// writeNew writes a file that must not be there.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // less the umask
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // leave no half-written file
	}
	return err
}
