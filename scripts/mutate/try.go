package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// try runs the tests that see a mutant, with the mutant.
func (t *trial) try(ctx context.Context, p *pkg, m mutant) (verdict, error) {
	if _, ok := t.equivalents[m.name()]; ok {
		return equivalent, nil
	}
	dir, err := os.MkdirTemp("", "mu") // short: tests make sockets in it
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := write(dir, p, m)
	if err != nil {
		return "", err
	}
	env := append(os.Environ(), "TMPDIR="+dir, "GOTMPDIR="+dir, "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
	if !passes(ctx, t.timeout, env, "build", "-o", os.DevNull, p.ImportPath) {
		return uncompilable, ctx.Err()
	}
	if !passes(ctx, t.timeout, env, t.test(p.ImportPath)...) {
		return caught, ctx.Err()
	}
	if len(p.importers) > 0 && !passes(ctx, t.timeout*time.Duration(len(p.importers)), env, t.test(p.importers...)...) {
		return caught, ctx.Err()
	}
	return survived, ctx.Err()
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
var failure = regexp.MustCompile(`^(--- FAIL|FAIL\b|panic: )`)

// passes reports whether a go command succeeds. It ends the command at the
// first failure or at the limit, and with it all that the command started.
func passes(ctx context.Context, limit time.Duration, env []string, args ...string) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return false
	}
	cmd := exec.CommandContext(ctx, self, slices.Concat([]string{guardArg, "go"}, args)...)
	cmd.Env = env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return false
	}
	failed := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if failure.Match(lines.Bytes()) {
			failed = true
			cancel()
		}
	}
	return cmd.Wait() == nil && !failed
}
