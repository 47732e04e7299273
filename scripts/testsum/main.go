// Testsum reads the output of `go test -json` from stdin, and summarizes it:
// the packages, the output of failed tests, the reason of each skipped test,
// and in the last line the number of tests. It exits with 1 if any test failed
// or none ran. For each argument, such as "docker", it also reports the number
// of tests with that word in their package or name.
package main

import (
	"fmt"
	"os"
)

func main() {
	sum := newSummary(os.Stdout, os.Args[1:]...)
	if err := sum.read(os.Stdin); err != nil {
		fmt.Fprintf(os.Stderr, "testsum: cannot read the tests' events: %v\n", err)
		os.Exit(1)
	}
	if !sum.close() {
		os.Exit(1)
	}
}
