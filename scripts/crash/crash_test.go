package main

import (
	"os"
	"testing"
)

// TestCrash plays some rounds; more of them plays go run ./scripts/crash.
func TestCrash(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("finds processes in /proc")
	}
	n := 25
	if testing.Short() {
		n = 3
	}
	if err := rounds(n, 1, ""); err != nil {
		t.Fatal(err)
	}
}
