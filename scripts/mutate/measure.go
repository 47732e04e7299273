package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A meter measures the coverage of the tests of one package.
type meter struct {
	pkg         *pkg
	units       []*unit // the smallest that were measured
	cache       string
	binary, tmp string // empty until something must be measured
	env         []string
	say         func(format string, args ...any)
	long        time.Duration
}

// measure returns the coverage of all tests of the module. What it has measured
// of the current commit is in a directory of the cache; it measures the rest, several
// packages at a time. What takes long is measured test by test.
func measure(ctx context.Context, cache string, several int, long time.Duration, out io.Writer) (*coverage, error) {
	commit, err := commit(ctx)
	if err != nil {
		return nil, err
	}
	cache, err = filepath.Abs(filepath.Join(cache, commit))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return nil, err
	}
	packages, err := list(ctx, "./...")
	if err != nil {
		return nil, err
	}
	packages = slices.DeleteFunc(packages, func(p *pkg) bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 })
	c := &coverage{dirs: map[string]string{}, whole: map[string]*unit{}}
	var mu sync.Mutex // of the coverage and the output
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, format, args...)
	}
	err = concurrently(ctx, several, packages, func(ctx context.Context, p *pkg) error {
		m := &meter{pkg: p, cache: cache, say: say, long: long}
		whole, err := m.unit(ctx, "")
		if m.tmp != "" {
			_ = os.RemoveAll(m.tmp)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		mu.Lock()
		defer mu.Unlock()
		c.dirs[p.ImportPath], c.whole[p.ImportPath], c.units = p.Dir, whole, append(c.units, m.units...)
		return nil
	})
	return c, err
}

// commit returns the current commit, without which nobody can tell what was
// measured.
func commit(ctx context.Context) (string, error) {
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no").Output()
	if err == nil && len(changes) > 0 {
		err = errors.New("coverage belongs to a commit: commit your changes first")
	}
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	return strings.TrimSpace(string(out)), err
}

// unit returns the tests that a name selects, after it has added the smallest
// units among them to the coverage.
func (m *meter) unit(ctx context.Context, test string) (*unit, error) {
	path := filepath.Join(m.cache, fmt.Sprintf("%x", sha256.Sum256([]byte(m.pkg.ImportPath+" "+test)))+".json")
	u := new(unit)
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, u)
	}
	if errors.Is(err, os.ErrNotExist) {
		if u, err = m.run(ctx, test); err == nil {
			err = save(path, u)
		}
	}
	if err != nil {
		return nil, err
	}
	if len(u.Parts) == 0 {
		m.units = append(m.units, u)
	}
	for _, part := range u.Parts {
		if _, err := m.unit(ctx, part); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// save writes a unit at once, so that an interrupted run leaves none that is
// incomplete.
func save(path string, u *unit) error {
	text, err := json.Marshal(u)
	if err == nil {
		err = os.WriteFile(path+".tmp", text, 0o600)
	}
	if err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// run measures tests. A process that they kill writes no coverage.
func (m *meter) run(ctx context.Context, test string) (*unit, error) {
	if err := m.build(ctx); err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp(m.tmp, "")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(data, 0o777); err != nil { //nolint:gosec // tasks of other users write to it, too
		return nil, err
	}
	u := &unit{Package: m.pkg.ImportPath, Test: test}
	var out []byte
	for range 3 { // under load a test may fail by chance
		cmd := command(ctx, m.binary, "-test.v", "-test.run", batch{u}.pattern(), "-test.gocoverdir", data)
		cmd.Env, cmd.Dir = append(m.env, "GOCOVERDIR="+data), m.pkg.Dir
		began := time.Now()
		if out, err = cmd.Output(); err == nil {
			u.Seconds = time.Since(began).Seconds()
			break
		}
	}
	if err != nil && test != "" && ctx.Err() == nil {
		m.say("%s %s fails without the other tests of its package, and is left out\n", u.Package, test)
		return u, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the tests fail without a mutant: %w\n%s", errors.Join(err, ctx.Err()), out)
	}
	if u.Seconds > m.long.Seconds() {
		u.Parts = parts(out, test)
	}
	if len(u.Parts) == 0 {
		profile, err := exec.CommandContext(ctx, "go", "tool", "covdata", "textfmt", "-i="+data, "-o=/dev/stdout").Output()
		if err != nil {
			return nil, err
		}
		if u.Blocks, err = parse(string(profile), m.pkg.Module.Path); err != nil {
			return nil, err
		}
	}
	m.say("measured %5.1fs %s %s\n", u.Seconds, u.Package, test)
	return u, os.RemoveAll(data)
}

// build builds the tests with coverage of the whole module, once.
func (m *meter) build(ctx context.Context) (err error) {
	if m.tmp != "" {
		return nil
	}
	if m.tmp, m.env, err = scratch(); err != nil {
		return err
	}
	m.binary = filepath.Join(m.tmp, "test")
	cmd := command(ctx, "go", "test", "-c", "-vet=off", "-cover", "-covermode=set", "-coverpkg=./...", "-o", m.binary, m.pkg.ImportPath)
	cmd.Dir = m.pkg.Module.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// started matches the line in which the testing package names a test.
var started = regexp.MustCompile(`(?m)^=== RUN +(\S+)$`)

// parts returns the tests, or the subtests of a test, that an output names.
func parts(out []byte, test string) []string {
	prefix := test
	if test != "" {
		prefix += "/"
	}
	var names []string
	for _, found := range started.FindAllSubmatch(out, -1) {
		if rest, ok := strings.CutPrefix(string(found[1]), prefix); ok {
			name, _, _ := strings.Cut(rest, "/")
			names = append(names, prefix+name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
