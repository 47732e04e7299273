package jobtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

// Find returns the test files that paths name, each once: a file, or all in a
// folder and in its folder "tests". No paths mean the current folder.
func Find(paths []string) (files []string, diagnostics jobspec.Diagnostics) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	for _, path := range paths {
		found, err := find(path)
		var d jobspec.Diagnostic
		switch {
		case errors.As(err, &d):
			diagnostics = append(diagnostics, d)
		case err != nil:
			diagnostics = append(diagnostics, jobspec.Diagnostic{Summary: fmt.Sprintf("cannot use %q: %v", path, err)})
		}
		for _, f := range found {
			if !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
	}
	return files, diagnostics
}

func find(path string) (files []string, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("there is no such file or folder")
	case err != nil:
		return nil, diagnostic.Bare(err)
	case !info.IsDir() && !strings.HasSuffix(path, Suffix):
		return nil, jobspec.Diagnostic{
			Summary: fmt.Sprintf("%q is not a test file: its name does not end in %s", path, Suffix),
			Remedy:  "name a test file, or a folder with some",
		}
	case !info.IsDir():
		return []string{filepath.Clean(path)}, nil
	}
	for _, dir := range []string{path, filepath.Join(path, "tests")} {
		entries, err := os.ReadDir(dir)
		if err != nil && (dir == path || !errors.Is(err, fs.ErrNotExist)) {
			return files, diagnostic.Bare(err)
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), Suffix) && !e.IsDir() {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	if len(files) == 0 {
		err = jobspec.Diagnostic{
			Summary: fmt.Sprintf("there is no test file in %q", path), Detail: fmt.Sprintf("neither it nor its folder \"tests\" has a file whose name ends in %s", Suffix),
			Remedy: "write a first one: taskrun test --init JOB",
		}
	}
	return files, err
}
