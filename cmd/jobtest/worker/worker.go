// Package worker plays job tests in processes of their own: a panic or a clock that
// stands still ends one run and not all of them, and runs share nothing.
//
// A worker reads orders from stdin and writes results to stdout, each one object of
// JSON. It ends with stdin.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"taskrun/cmd/jobtest/timeline"
	"taskrun/jobspec"
)

// Order is a run for a worker.
type Order struct {
	File string `json:"file"`
	Run  string `json:"run"`
	Seed uint64 `json:"seed"`
	Real bool   `json:"real"` // real drivers: one such run at a time
	Dir  string `json:"dir"`  // for the files of the run
	// Events are part of the result although the run passes.
	Events bool `json:"events"`
	// Vars and VarFiles are the values of --var and --var-file. They may hold secrets,
	// so they are no arguments, which other users can read.
	Vars     []string `json:"vars,omitempty"`
	VarFiles []string `json:"var_files,omitempty"`
	// SecretVars: messages hide the values of Vars.
	SecretVars bool `json:"secret_vars,omitempty"`
}

// Result is how a run went.
type Result struct {
	Failures []Failure        `json:"failures,omitempty"` // it has passed without one
	Elapsed  time.Duration    `json:"elapsed"`            // on the clock of the run
	Took     time.Duration    `json:"took"`               // on the clock on the wall
	Events   []timeline.Event `json:"events,omitempty"`
	Output   []Output         `json:"output,omitempty"`  // of tasks that wrote something
	Notices  []string         `json:"notices,omitempty"` // diagnostics of the run
	// Last is set if the worker can play no other run.
	Last bool `json:"last,omitempty"`
}

// Failure is why a run has failed.
type Failure struct {
	jobspec.Diagnostic
	Targets []string `json:",omitempty"` // tasks and allocations whose events explain it
	Stack   string   `json:",omitempty"` // of the crash
	Diff    string   `json:",omitempty"` // between a snapshot and the run
}

// Output is the output of a task.
type Output struct {
	Target         string `json:"target"`
	Stdout, Stderr string
}

// Serve plays orders one after another until in ends. When it does, the context of
// the run that is being played ends as well.
func Serve(ctx context.Context, in io.Reader, out io.Writer, play func(context.Context, Order) Result) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	orders, failed := make(chan Order), make(chan error, 1)
	go func() {
		defer cancel()
		for dec := json.NewDecoder(in); ; {
			var o Order
			if err := dec.Decode(&o); err != nil {
				failed <- err
				return
			}
			select {
			case orders <- o:
			case <-ctx.Done():
				return
			}
		}
	}()
	enc := json.NewEncoder(out)
	for {
		select {
		case o := <-orders:
			result := play(ctx, o)
			if err := enc.Encode(result); err != nil {
				return fmt.Errorf("cannot hand over the result of a job test: %w", err)
			}
			if result.Last {
				return nil
			}
		case err := <-failed:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("cannot read which job test to play: %w", err)
		}
	}
}
