package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A verdict is what came of a mutant.
type verdict string

const (
	caught       verdict = "caught"
	survived     verdict = "survived"
	equivalent   verdict = "equivalent"
	uncompilable verdict = "uncompilable"
)

// try runs the tests that see a mutant, with the mutant. It returns what the
// first of them said that failed.
func (t *trial) try(ctx context.Context, p *pkg, m mutant) (v verdict, by string, err error) {
	if _, ok := t.equivalents[m.name()]; ok {
		return equivalent, "", nil
	}
	dir, env, err := scratch()
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := write(dir, p, m)
	if err != nil {
		return "", "", err
	}
	env = append(env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
	if ok, _ := passes(ctx, t.timeout, env, "build", "-o", os.DevNull, p.ImportPath); !ok {
		return uncompilable, "", ctx.Err()
	}
	if ok, by := passes(ctx, t.timeout, env, t.test(p.ImportPath)...); !ok {
		return caught, by, ctx.Err()
	}
	if len(p.importers) > 0 {
		if ok, by := passes(ctx, t.timeout*time.Duration(len(p.importers)), env, t.test(p.importers...)...); !ok {
			return caught, by, ctx.Err()
		}
	}
	return survived, "", ctx.Err()
}

// scratch makes a directory for temporary files and returns the environment
// that has the go command and the tests use it. As in /tmp, other users can pass
// through it: some tests put there what others could open.
func scratch() (dir string, env []string, err error) {
	dir, err = os.MkdirTemp("", "mu") // short: tests make sockets in it
	if err != nil {
		return "", nil, err
	}
	return dir, append(os.Environ(), "TMPDIR="+dir, "GOTMPDIR="+dir), os.Chmod(dir, 0o711) //nolint:gosec // see above
}

// test is the go command's test of packages.
func (t *trial) test(packages ...string) []string {
	return slices.Concat([]string{"test", "-vet=off", "-failfast", "-timeout", t.timeout.String()}, packages)
}

// write writes a mutant's file, and the overlay that puts it in the place of
// the package's.
func write(dir string, p *pkg, m mutant) (overlay string, err error) {
	path := filepath.Join(p.Module.Dir, filepath.FromSlash(m.file))
	src, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	mutated := filepath.Join(dir, "mutant.go")
	if err := os.WriteFile(mutated, m.apply(src), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// failure is a line of go test that tells that a test or a package failed.
var failure = regexp.MustCompile(`^(\s*--- FAIL|FAIL\b|panic: )`)

// passes reports whether a go command succeeds, or else the first failure that
// it told of, down to the subtest. It ends the command then, or at the limit,
// and with it all that the command started.
func passes(ctx context.Context, limit time.Duration, env []string, args ...string) (ok bool, why string) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return false, err.Error()
	}
	cmd := exec.CommandContext(ctx, self, slices.Concat([]string{guardArg, "go"}, args)...)
	cmd.Env = env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return false, err.Error()
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch line := lines.Text(); {
		case !failure.MatchString(line):
			if why != "" {
				cancel()
			}
		case why == "", strings.HasPrefix(line, " "): // a subtest of the test before
			why = strings.TrimSpace(line)
		}
	}
	if err := cmd.Wait(); err != nil && why == "" {
		if why = err.Error(); errors.Is(ctx.Err(), context.DeadlineExceeded) {
			why = "timed out, which proves little on a busy machine"
		}
	}
	return why == "", why
}
