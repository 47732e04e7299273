package main

import (
	"flag"
	"os"
	"testing"
)

// atOnce is how many recorded jobs run concurrently, unless -parallel sets it:
// they take as long as in Nomad, and mostly wait.
const atOnce = "12"

// TestMain is the program itself in the processes that tests start.
func TestMain(m *testing.M) {
	if os.Getenv("TASKRUN_TEST_MAIN") != "" {
		main()
		panic("main has returned")
	}
	// With the race detector each process would wait for a second at its end.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(atOnce) // a number
	}
	os.Exit(m.Run())
}
