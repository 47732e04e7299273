package main

import (
	"flag"
	"os"
	"strings"
	"syscall"
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
	syscall.Umask(0o022) // some tests compare modes
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "TASKRUN_") || strings.HasPrefix(v, "NOMAD_") { // of the user who runs the tests
			name, _, _ := strings.Cut(v, "=")
			_ = os.Unsetenv(name)
		}
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
