package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// A pkg is a package of the module and the packages whose tests depend on it:
// those that import it, in code or in tests.
type pkg struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
	TestGoFiles  []string
	XTestGoFiles []string
	Module       struct{ Dir, Path string }

	importers []string
	mutants   []mutant
}

// load lists the packages of the patterns that have code to mutate.
func load(ctx context.Context, patterns []string) ([]*pkg, error) {
	all, err := list(ctx, "./...")
	if err != nil {
		return nil, err
	}
	chosen, err := list(ctx, patterns...)
	if err != nil {
		return nil, err
	}
	var packages []*pkg
	for _, p := range chosen {
		if slices.Contains(p.Imports, "testing") { // a test suite for other packages
			continue
		}
		for _, other := range all {
			imports := slices.Concat(other.Imports, other.TestImports, other.XTestImports)
			if other.ImportPath != p.ImportPath && slices.Contains(imports, p.ImportPath) {
				p.importers = append(p.importers, other.ImportPath)
			}
		}
		if err := p.find(); err != nil {
			return nil, err
		}
		if len(p.mutants) > 0 {
			packages = append(packages, p)
		}
	}
	return packages, nil
}

// find collects the mutants in the files of a package.
func (p *pkg) find() error {
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(p.Module.Dir, path)
		if err != nil {
			return err
		}
		found, err := mutants(filepath.ToSlash(rel), src)
		if err != nil {
			return err
		}
		p.mutants = append(p.mutants, found...)
	}
	return nil
}

func list(ctx context.Context, patterns ...string) ([]*pkg, error) {
	out, err := exec.CommandContext(ctx, "go", append([]string{"list", "-json"}, patterns...)...).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil, fmt.Errorf("go list: %s", exit.Stderr)
		}
		return nil, err
	}
	var packages []*pkg
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		p := new(pkg)
		if err := d.Decode(p); err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
}
