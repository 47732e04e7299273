// Command acceptance runs two foreign test suites against taskrun agent: the
// tests of Nomad's api package, and the acceptance tests of the Terraform provider
// for Nomad.
//
//	go run ./scripts/acceptance -api DIR -provider DIR [-taskrun PATH] [-run REGEXP] [-parallel N]
//
// DIR is a checkout of github.com/hashicorp/nomad or of
// github.com/hashicorp/terraform-provider-nomad; either may be left out. The
// provider's tests need terraform on the PATH. The suites find a command named
// nomad on the PATH, which starts taskrun agent, or the real Nomad agent that
// -nomad names. Each test runs by itself, with an agent of its own.
//
// -results writes the outcome of each test to a file, and -expect compares the
// outcomes with such a file. The exit code is 1 if an outcome differs from the
// expected one or, without -expect, if a test fails.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	opts, err := parse(os.Args[1:])
	good := false
	if err == nil {
		good, err = run(ctx, opts)
	}
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		os.Exit(2)
	case !good:
		os.Exit(1)
	}
}

// run runs the suites, and reports whether all outcomes are as they should be.
func run(ctx context.Context, opts options) (good bool, err error) {
	var expected map[string]outcome
	if opts.expect != "" {
		if expected, err = readOutcomes(opts.expect); err != nil {
			return false, err
		}
	}
	scratch, err := os.MkdirTemp("", "acc")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	if err := os.Chmod(scratch, 0o711); err != nil { // for tasks of other users
		return false, err
	}
	bin, err := makeNomad(ctx, opts, scratch)
	if err != nil {
		return false, err
	}
	var results []result
	for _, s := range []suite{apiSuite(opts.api), providerSuite(opts.provider)} {
		if s.dir == "" {
			continue
		}
		if err := s.build(ctx, scratch); err != nil {
			return false, err
		}
		tests, err := s.tests(opts)
		if err != nil {
			return false, err
		}
		results = append(results, playAll(ctx, opts, s, tests, scratch, bin)...)
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	count(os.Stdout, results)
	if opts.results != "" {
		if err := writeOutcomes(opts.results, results); err != nil {
			return false, err
		}
	}
	if opts.expect != "" {
		return compare(os.Stdout, expected, results), nil
	}
	return !failedAny(results), nil
}
