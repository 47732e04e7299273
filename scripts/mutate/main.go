// Command mutate changes the code in small ways and reports the changes that no
// test notices:
//
//	go run ./scripts/mutate [-seed 1] [-n 150] [-packages PATTERNS] [-parallel 2] [-own] [-results FILE]
//	go run ./scripts/mutate -coverage DIR ...
//	go run ./scripts/mutate -at engine/health/orders.go:50
//
// It samples n mutants, stratified by package, and runs the tests of the mutant's
// package and, if these pass, of the packages that import it. Mutants are overlays
// of the go command: the source tree is not changed. Mutants that do not compile
// are replaced by others; equivalent.txt lists those that change nothing, with
// reasons. With -at it tries every mutant of one line.
//
// With -coverage it first measures which tests, and which parts of those that
// take long, run which statements, and keeps that in DIR for the commit. It then
// runs the tests of a mutant's package and, of all packages, only the tests that
// run its statement, the shortest first. A test must fail twice. A process that a
// test kills leaves no coverage.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// patterns are the packages of the program, without its tools.
const patterns = ". ./cmd/... ./drivers/... ./engine/... ./hooks/... ./jobspec/..."

func main() {
	if len(os.Args) > 2 && os.Args[1] == guardArg {
		os.Exit(guard(os.Args[2:]))
	}
	o := options{long: 30 * time.Second}
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the sample")
	flag.IntVar(&o.n, "n", 150, "number of mutants")
	flag.StringVar(&o.packages, "packages", patterns, "packages to mutate")
	flag.StringVar(&o.at, "at", "", "try every mutant of this `FILE:LINE` instead of a sample")
	flag.StringVar(&o.coverage, "coverage", "", "run only tests that run a mutant, and keep what they run in `DIR`")
	flag.BoolVar(&o.own, "own", false, "run only the tests of the package itself")
	flag.IntVar(&o.parallel, "parallel", 2, "number of packages mutated at a time")
	flag.DurationVar(&o.timeout, "timeout", 3*time.Minute, "limit of the tests of a package")
	flag.StringVar(&o.results, "results", "", "write results to `FILE`, and skip those it has")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}
