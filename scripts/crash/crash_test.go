package main

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-write" { // the task of TestOutput
		main()
		return
	}
	code := m.Run()
	if program != "" {
		os.RemoveAll(filepath.Dir(program))
	}
	os.Exit(code)
}

// program is taskrun, once built has been called.
var program string

// built returns the path of taskrun, which is built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "crash")
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, "taskrun")
	return program, build(program)
})

// play plays rounds, or output, see crash.
func play(t *testing.T, n, output, rate int, play playFunc) {
	t.Helper()
	program, err := built()
	if err == nil {
		err = crash(n, output, rate, 1, program, play)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCrash plays a few rounds of go run ./scripts/crash.
func TestCrash(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("finds processes in /proc")
	}
	n := 25
	if testing.Short() {
		n = 3
	}
	play(t, n, 0, 0, playRound)
}

// TestOutput plays the output of a task, with less output than go run
// ./scripts/crash -output.
func TestOutput(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("finds processes in /proc")
	}
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	play(t, 0, 64, 32, nil)
}

// TestCompare removes pieces from a text, and duplicates some.
func TestCompare(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	whole := make([]byte, size)
	_, _ = (&text{}).Read(whole)
	without := func(at, n int) []byte { return append(append([]byte{}, whole[:at]...), whole[at+n:]...) }
	for name, tt := range map[string]struct {
		got     []byte
		deaths  int
		missing int64 // -1: an error
	}{
		"all":                    {whole, 2, 0},
		"a gap":                  {without(70_001, 1_003), 1, 1_003},
		"a gap without a death":  {without(70_001, 1_003), 0, -1},
		"a large gap":            {without(70_001, maxLost+1), 1, -1},
		"a gap at the end":       {whole[:size-5], 1, 5},
		"an end without a death": {whole[:size-5], 0, -1},
		"doubled":                {append(append([]byte{}, whole[:500_000]...), whole[499_990:]...), 1, -1},
		"more than there is":     {append(append([]byte{}, whole...), whole[:9]...), 1, -1},
	} {
		missing, err := compare(bytes.NewReader(tt.got), size, tt.deaths)
		if (err != nil) != (tt.missing < 0) || err == nil && missing != tt.missing {
			t.Errorf("%s: %d bytes, %v", name, missing, err)
		}
	}
}
