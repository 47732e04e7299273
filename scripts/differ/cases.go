package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"taskrun/cmd/report/recording"
)

// cases is a folder of jobs.
type cases struct {
	dir      string
	jobs     []string
	actions  map[string][]action
	declared []declared
}

// declared is an intended difference.
type declared struct{ Name, Path, Why string }

// action is an action on a job, and its time.
type action struct {
	What    string
	Seconds float64 // after the previous action
}

// UnmarshalJSON reads [what, seconds].
func (a *action) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&a.What, &a.Seconds})
}

// load reads a folder.
func load(dir string, only *regexp.Regexp) (*cases, error) {
	c := &cases{dir: dir}
	files, err := filepath.Glob(filepath.Join(dir, "*.nomad.hcl"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".nomad.hcl")
		if !strings.HasSuffix(name, ".v2") && only.MatchString(name) {
			c.jobs = append(c.jobs, name)
		}
	}
	if len(c.jobs) == 0 {
		return nil, fmt.Errorf("%s has no job (NAME.nomad.hcl) to compare", dir)
	}
	var actions struct{ Actions map[string][]action }
	err = errors.Join(optional(readJSON(filepath.Join(dir, "actions.json"), &actions)),
		optional(readJSON(filepath.Join(dir, "declared.json"), &c.declared)))
	c.actions = actions.Actions
	for _, d := range c.declared {
		for _, pattern := range []string{d.Name, d.Path} {
			_, broken := regexp.Compile(pattern)
			err = errors.Join(err, broken)
		}
	}
	return c, err
}

func optional(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// copyTo copies the files of the folder to the scratch folder, which replaces
// @R@.
func (c *cases) copyTo(scratch string) error {
	files, err := filepath.Glob(filepath.Join(c.dir, "*.hcl"))
	for _, file := range files {
		text, failed := os.ReadFile(file)
		if failed == nil {
			text = []byte(strings.ReplaceAll(string(text), "@R@", scratch))
			failed = os.WriteFile(filepath.Join(scratch, filepath.Base(file)), text, 0o600)
		}
		err = errors.Join(err, failed)
	}
	return errors.Join(err, os.Mkdir(filepath.Join(scratch, "hv"), 0o777))
}

// why returns the reason of a declared difference, or "".
func (c *cases) why(name, path string) string {
	for _, d := range c.declared {
		if whole(d.Name, name) && whole(d.Path, path) {
			return d.Why
		}
	}
	return ""
}

func whole(pattern, s string) bool {
	return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(s)
}

// report lists the differences, and reports whether any of them is not
// declared.
func (c *cases) report(out io.Writer, results []result) (different bool) {
	agree := 0
	for _, r := range results {
		reasons, undeclared := map[string]int{}, 0
		if r.err != nil {
			fmt.Fprintf(out, "FAIL %s: %v\n", r.name, r.err)
			different = true
			continue
		}
		for _, d := range r.list {
			if why := c.why(r.name, d.Path); why != "" {
				reasons[why]++
				continue
			}
			if undeclared++; undeclared == 1 {
				fmt.Fprintf(out, "DIFF %s\n", r.name)
			}
			fmt.Fprintf(out, "  %s\n", strings.ReplaceAll(d.String(), "\n", "\n  "))
		}
		switch {
		case undeclared > 0:
			different = true
		case len(reasons) > 0:
			fmt.Fprintf(out, "OK   %s, but for declared differences\n", r.name)
		default:
			fmt.Fprintf(out, "OK   %s\n", r.name)
		}
		if undeclared == 0 {
			agree++
		}
	}
	fmt.Fprintf(out, "%d of %d jobs agree\n", agree, len(results))
	return different
}

// result is the result of comparing a job.
type result struct {
	name string
	list []recording.Difference
	err  error
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func write(file string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}
