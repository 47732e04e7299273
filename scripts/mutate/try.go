package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
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
	switch ok, why := passes(ctx, buildTime, "", env, "go", "build", "-o", os.DevNull, p.ImportPath); {
	case why == timedOut:
		return "", "", fmt.Errorf("%s: the build %s", m, why)
	case !ok:
		return uncompilable, "", ctx.Err()
	}
	if t.coverage != nil {
		v, by, err = t.covered(ctx, dir, env, p, m)
		return v, by, errors.Join(err, ctx.Err())
	}
	for _, packages := range [][]string{{p.ImportPath}, p.importers} {
		if len(packages) == 0 {
			continue
		}
		if ok, by := passes(ctx, t.timeout*time.Duration(len(packages)), "", env, t.test(packages...)...); !ok {
			return caught, by, ctx.Err()
		}
	}
	return survived, "", ctx.Err()
}

// buildTime limits a build, which takes long only on a busy machine.
const buildTime = time.Hour

// untested is the reason of a survivor whose statement no test runs.
const untested = "(no test runs the statement)"

// covered runs the tests that may notice a mutant until one fails.
func (t *trial) covered(ctx context.Context, dir string, env []string, p *pkg, m mutant) (verdict, string, error) {
	batches, reason := t.coverage.batches(m, p.ImportPath), ""
	if !slices.ContainsFunc(t.coverage.units, func(u *unit) bool { return u.covers(m) }) {
		batches, reason = t.coverage.around(p), untested
	}
	binary, built := filepath.Join(dir, "test"), ""
	for _, b := range batches {
		of := b[0].Package
		if built != of {
			switch ok, why := passes(ctx, buildTime, "", env, "go", "test", "-c", "-vet=off", "-o", binary, of); {
			case why == timedOut:
				return "", "", fmt.Errorf("%s: the build %s", m, why)
			case !ok: // a constant that does not suit other packages
				return uncompilable, "", nil
			}
			built = of
		}
		limit := t.timeout + time.Duration(10*b.seconds())*time.Second
		why := ""
		for range 2 { // under load a test may fail by chance
			var ok bool
			if ok, why = passes(ctx, limit, t.coverage.dirs[of], env, binary, "-test.failfast", "-test.run", b.pattern()); ok {
				break
			}
		}
		if why == timedOut {
			why = fmt.Sprintf("timed out twice, after %v; without the mutant it takes %.1fs", limit, b.seconds())
		}
		if why != "" {
			return caught, why, nil
		}
	}
	return survived, reason, nil
}

// test returns the go command that tests packages.
func (t *trial) test(packages ...string) []string {
	return slices.Concat([]string{"go", "test", "-vet=off", "-failfast", "-timeout", t.timeout.String()}, packages)
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

const timedOut = "timed out, which proves little on a busy machine"

// passes reports whether a command succeeds, or else the first failure of a test
// that it reports, including the subtest. It then kills the command, with its
// children, as it does at the time limit.
func passes(ctx context.Context, limit time.Duration, dir string, env []string, args ...string) (ok bool, why string) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := command(ctx, args...)
	cmd.Dir, cmd.Env = dir, env
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
			why = timedOut
		}
	}
	return why == "", why
}
