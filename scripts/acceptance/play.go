package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"taskrun/cmd/verify"
)

// makeNomad returns a folder with a command nomad, which starts taskrun agent, or
// the real Nomad agent of the options.
func makeNomad(ctx context.Context, opts options, scratch string) (bin string, err error) {
	bin = filepath.Join(scratch, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(bin, "nomad")
	if opts.nomad != "" {
		program, err := filepath.Abs(opts.nomad)
		if err == nil {
			err = os.Symlink(program, file)
		}
		return bin, err
	}
	program, err := filepath.Abs(opts.taskrun)
	if opts.taskrun == "" {
		program = filepath.Join(bin, "taskrun")
		c := exec.CommandContext(ctx, "go", "build", "-o", program, "taskrun")
		c.Stderr = os.Stderr
		err = c.Run()
	}
	if err != nil {
		return "", err
	}
	// The suites send no token.
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = -version ] && exec echo 'Nomad v2.0.6'\nexec '%s' \"$@\" --no-token\n", program)
	return bin, os.WriteFile(file, []byte(script), 0o700)
}

// playAll runs the tests, several at a time, and prints the outcome of each.
func playAll(ctx context.Context, opts options, s suite, tests []test, scratch, bin string) []result {
	results := make([]result, len(tests))
	slots := make(chan struct{}, opts.parallel)
	var all sync.WaitGroup
	var printing sync.Mutex
	for i, t := range tests {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			results[i] = play(ctx, opts, s, t, filepath.Join(scratch, fmt.Sprint(s.name[:1], i)), bin)
			printing.Lock()
			defer printing.Unlock()
			results[i].print(os.Stdout)
		})
	}
	all.Wait()
	return results
}

// startTime limits the time until an agent has a node that is ready.
const startTime = 30 * time.Second

// play runs one test in a folder of its own.
func play(ctx context.Context, opts options, s suite, t test, dir, bin string) result {
	r := result{test: t, outcome: leftOut}
	if t.why != "" || ctx.Err() != nil {
		return r
	}
	began := time.Now()
	env := environment(dir, bin)
	for _, sub := range []string{"tmp", "home", "run", "data", "n"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return r.failed(err.Error())
		}
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, opts.timeout)
	defer cancel()
	if !s.ownAgent {
		agent, err := verify.StartAgent(ctx, verify.Start{
			Nomad: filepath.Join(bin, "nomad"), Env: env, Dir: filepath.Join(dir, "n"), Wait: startTime,
			More: fmt.Sprintf("data_dir = %q\n", filepath.Join(dir, "data")),
		})
		if err != nil {
			return r.failed(err.Error())
		}
		defer func() { _ = agent.Stop(context.WithoutCancel(ctx)) }()
		env = append(env, "NOMAD_ADDR="+agent.Server.Address, "TF_ACC=1", "CHECKPOINT_DISABLE=1")
		if terraform, err := exec.LookPath("terraform"); err == nil {
			env = append(env, "TF_ACC_TERRAFORM_PATH="+terraform)
		}
	}
	c := command(ctx, s.program, "-test.v", "-test.run", "^"+t.name+"$")
	c.Dir, c.Env = s.dir, env
	out, err := c.CombinedOutput()
	_ = c.Cancel() // the agents of a test that ended early
	r.took = time.Since(began)
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not end within %v", opts.timeout)
	}
	switch {
	case err != nil:
		return r.failed(string(out) + err.Error())
	case skip.Match(out):
		r.outcome, r.why = skipped, string(skip.FindSubmatch(out)[1])
	default:
		r.outcome = passed
	}
	return r
}

// skip finds the reason of a test that skips itself.
var skip = regexp.MustCompile(`(?m)^(?:.*_test\.go:\d+: (.*)\n)?--- SKIP: `)

// environment returns the environment of a test and of its agent: nothing of the
// user's own AWS, Nomad, taskrun and Terraform.
func environment(dir, bin string) []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch prefix, _, _ := strings.Cut(name, "_"); prefix {
		case "AWS", "NOMAD", "TASKRUN", "TF", "XDG":
		default:
			env = append(env, v)
		}
	}
	return append(env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+filepath.Join(dir, "home"), "TMPDIR="+filepath.Join(dir, "tmp"),
		"XDG_RUNTIME_DIR="+filepath.Join(dir, "run"))
}

// command returns a command that ends with all of its group when the context
// does.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.WaitDelay = 10 * time.Second
	c.Cancel = func() error {
		err := syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	return c
}
