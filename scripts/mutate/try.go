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

// A verdict is the result of trying a mutant.
type verdict string

const (
	caught       verdict = "caught"
	survived     verdict = "survived"
	equivalent   verdict = "equivalent"
	uncompilable verdict = "uncompilable"
)

// try runs the tests that depend on a mutant's package, with the mutant. It
// returns the output of the first one that failed.
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

// scratch creates a directory for temporary files and returns an environment in
// which the go command and the tests use it. As in /tmp, other users can pass
// through it: some tests need that.
func scratch() (dir string, env []string, err error) {
	dir, err = os.MkdirTemp("", "mu") // a short path, because tests create sockets in it
	if err != nil {
		return "", nil, err
	}
	return dir, append(os.Environ(), "TMPDIR="+dir, "GOTMPDIR="+dir), os.Chmod(dir, 0o711) //nolint:gosec // see above
}

// test returns the go command that tests packages.
func (t *trial) test(packages ...string) []string {
	return slices.Concat([]string{"test", "-vet=off", "-failfast", "-timeout", t.timeout.String()}, packages)
}

// write writes a mutant's file, and the overlay that replaces the package's
// file by it.
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

// failure matches a line of go test about a failed test or package.
var failure = regexp.MustCompile(`^(\s*--- FAIL|FAIL\b|panic: )`)

// passes reports whether a go command succeeds, or else the first failure that
// it reports, including the subtest. It then kills the command, with its
// children, as it does at the time limit.
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
		case why == "", strings.HasPrefix(line, " "): // a subtest of the previous test
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
