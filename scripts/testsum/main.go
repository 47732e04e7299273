// Testsum reads what `go test -json` writes, from stdin, and says what matters
// of it: the packages, the output of the tests that failed, the reason of each
// test that was skipped, and in the last line how many tests there were. It
// exits 1 when one failed or none ran. For each argument, such as "docker", it
// says before how many tests with that word in package or name there were.
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
