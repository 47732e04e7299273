// Command differ runs the jobs of a folder on a real Nomad agent and on taskrun,
// with the same actions on both, and reports each difference in the results.
//
//	go run ./scripts/differ -nomad PATH [-taskrun PATH] [-address URL] DIR
//
// NAME.nomad.hcl is a job and NAME.v2.nomad.hcl another version of it. In
// actions.json {"actions": {NAME: [[WHAT, SECONDS], …]}} lists the actions on the
// job, each with its delay after the previous action:
//
//	cli ARGS…    a command of the nomad CLI; $ALLOC is the running allocation
//	api PATH     a GET request
//	deploy       record the deployments
//	allocs       record the allocations
//	stop         stop the job
//
// An action with negative seconds is run before the job and on Nomad only: it
// creates what the stubs in taskrun.hcl provide for taskrun. agent.hcl, if it
// exists, is additional configuration of the agent. @R@ is a scratch folder in all
// files. With -record the results of Nomad are written to expected/NAME.json, and
// with -recorded these are used instead of an agent.
//
// declared.json lists intended differences: [{"name", "path", "why"}], where name
// and path are regular expressions. The exit code is 1 if there is any other
// difference.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"taskrun/cmd/report/recording"
)

type options struct {
	nomad, taskrun, address string
	record, recorded        bool
	only                    *regexp.Regexp
	parallel                int
	settle                  time.Duration
	dir                     string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	opts, err := parse(os.Args[1:])
	different := false
	if err == nil {
		different, err = run(ctx, opts, os.Stdout)
	}
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "differ:", err)
		os.Exit(2)
	case different:
		os.Exit(1)
	}
}

func parse(args []string) (opts options, err error) {
	f := flag.NewFlagSet("differ", flag.ContinueOnError)
	f.StringVar(&opts.nomad, "nomad", "nomad", "`path` of the nomad command")
	f.StringVar(&opts.taskrun, "taskrun", "taskrun", "`path` of the taskrun command")
	f.StringVar(&opts.address, "address", "", "`URL` of an agent in dev mode; default: one of its own")
	f.BoolVar(&opts.record, "record", false, "write what Nomad did to expected/")
	f.BoolVar(&opts.recorded, "recorded", false, "compare with expected/ instead of an agent")
	f.IntVar(&opts.parallel, "parallel", 4, "run so many jobs at a time")
	f.DurationVar(&opts.settle, "settle", 10*time.Second, "look at a job when nothing has happened for so long")
	only := f.String("run", "", "run only the jobs whose names match the `regexp`")
	if err := f.Parse(args); err != nil {
		return opts, err
	}
	if f.NArg() != 1 || opts.parallel < 1 {
		return opts, errors.New("usage: differ [options] DIR")
	}
	opts.dir = f.Arg(0)
	opts.only, err = regexp.Compile(*only)
	return opts, err
}

// run compares all jobs, and reports whether there are undeclared differences.
func run(ctx context.Context, opts options, out io.Writer) (different bool, err error) {
	cases, err := load(opts.dir, opts.only)
	if err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "differ")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	if err := os.Chmod(scratch, 0o711); err != nil { // for tasks of other users
		return false, err
	}
	var agent *side
	if !opts.recorded {
		var end func()
		if agent, end, err = startAgent(ctx, opts, scratch); err != nil {
			return false, err
		}
		defer end()
	}
	results := make([]result, len(cases.jobs))
	var all sync.WaitGroup
	slots := make(chan struct{}, opts.parallel)
	for i, name := range cases.jobs {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			results[i] = compare(ctx, opts, cases, agent, name, filepath.Join(scratch, fmt.Sprint(i)))
		})
	}
	all.Wait()
	return cases.report(out, results), ctx.Err()
}

// result is the result of comparing a job.
type result struct {
	name string
	list []recording.Difference
	err  error
}

// compare runs a job on both sides concurrently.
func compare(ctx context.Context, opts options, cases *cases, agent *side, name, scratch string) result {
	if err := errors.Join(os.Mkdir(scratch, 0o711), cases.copyTo(scratch)); err != nil {
		return result{name: name, err: err}
	}
	var nomad, taskrun recording.Recording
	var nomadErr, taskrunErr error
	var both sync.WaitGroup
	both.Go(func() {
		if agent != nil {
			nomad, nomadErr = agent.play(ctx, name, scratch, cases.actions[name], opts.settle)
			return
		}
		nomadErr = readJSON(filepath.Join(opts.dir, "expected", name+".json"), &nomad)
	})
	both.Go(func() { taskrun, taskrunErr = playLocally(ctx, opts, name, scratch, cases.actions[name]) })
	both.Wait()
	if nomadErr != nil {
		return result{name: name, err: fmt.Errorf("on Nomad: %w", nomadErr)}
	}
	if opts.record {
		if err := write(filepath.Join(opts.dir, "expected", name+".json"), nomad); err != nil {
			return result{name: name, err: err}
		}
	}
	if taskrunErr != nil {
		return result{name: name, err: fmt.Errorf("on taskrun: %w", taskrunErr)}
	}
	return result{name: name, list: recording.Compare(nomad, taskrun, os.Geteuid() == 0)}
}

// cases is a folder of jobs.
type cases struct {
	dir      string
	jobs     []string
	actions  map[string][]action
	declared []declared
}

// declared is an intended difference.
type declared struct{ Name, Path, Why string }

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
