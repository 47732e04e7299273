package port_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/port"
)

// listen listens on a port of the loopback address and returns its number.
func listen(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// unused returns a port on which nothing listens.
func unused(t *testing.T) int {
	t.Helper()
	number, err := port.NewClaims("").Dynamic("test", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

func wantInUse(t *testing.T, err error, by string) {
	t.Helper()
	if !errors.Is(err, port.ErrInUse) || !strings.Contains(err.Error(), by) {
		t.Errorf("error %v, want that the port is in use by %s", err, by)
	}
}

func TestAStaticPortThatSomebodyListensOn(t *testing.T) {
	t.Parallel()
	number := listen(t)
	c := port.NewClaims(leaktest.TempDir(t))
	by := "some process"
	if name, err := os.ReadFile("/proc/self/comm"); err == nil {
		by = fmt.Sprintf("port %d is in use by process %d (%s)", number, os.Getpid(), strings.TrimSpace(string(name)))
	}
	wantInUse(t, c.Static(number, "a"), by)
	wantInUse(t, c.Static(number, "a"), by) // and it was not kept the first time
}

func TestAPortIsGivenOutOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(leaktest.TempDir(t), "made", "ports")
	mine, other := port.NewClaims(dir), port.NewClaims(dir)
	number := unused(t)
	if err := mine.Static(number, "web.g[0]"); err != nil {
		t.Fatal(err)
	}
	wantInUse(t, mine.Static(number, "api.g[0]"), "web.g[0]")
	wantInUse(t, other.Static(number, "api.g[0]"), fmt.Sprintf("another run of taskrun: web.g[0], process %d", os.Getpid()))
	if got, err := other.Dynamic("api.g[0]", number, nil); err != nil || got == number {
		t.Errorf("the port was given out again: %d, %v", got, err)
	} else {
		other.Release(got)
	}
	mine.Release(number)
	mine.Release(number) // is harmless
	if err := other.Static(number, "api.g[0]"); err != nil {
		t.Errorf("a port that was given back: %v", err)
	}
	other.Release(number)
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestAFileOfADeadEngineDoesNotCount: its lock went with it.
func TestAFileOfADeadEngineDoesNotCount(t *testing.T) {
	t.Parallel()
	dir, number := leaktest.TempDir(t), unused(t)
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(number)), []byte("web.g[0], process 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := port.NewClaims(dir)
	if err := c.Static(number, "a"); err != nil {
		t.Error(err)
	}
	c.Release(number)
}

func TestWithoutAPlaceForFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(leaktest.TempDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := port.NewClaims(filepath.Join(file, "ports")).Static(unused(t), "a"); err != nil {
		t.Error(err)
	}
}

func TestDynamic(t *testing.T) {
	t.Parallel()
	c := port.NewClaims("")
	want := unused(t)
	if got, err := c.Dynamic("a", want, nil); err != nil || got != want {
		t.Errorf("%d, %v, want %d", got, err, want)
	}
	seen := map[int]bool{want: true}
	for range 100 {
		got, err := c.Dynamic("a", want, func(n int) bool { return n%2 == 0 })
		if err != nil || seen[got] || got%2 == 0 || got < port.FirstDynamic || got > port.LastDynamic {
			t.Fatalf("%d, %v, was given out before: %v", got, err, seen[got])
		}
		seen[got] = true
	}
	taken := listen(t)
	if got, err := c.Dynamic("a", taken, nil); err != nil || got == taken {
		t.Errorf("%d, %v: somebody listens on it", got, err)
	}
	if _, err := c.Dynamic("a", 0, func(int) bool { return true }); err == nil || !strings.Contains(err.Error(), "from 20000 to 32000") {
		t.Errorf("error %v when there is none", err)
	}
}

// TestAdoptedIsNotLookedAt: the task that outlived its engine listens on it.
func TestAdoptedIsNotLookedAt(t *testing.T) {
	t.Parallel()
	c, number := port.NewClaims(""), listen(t)
	if err := c.Adopt(number, "a"); err != nil {
		t.Fatal(err)
	}
	wantInUse(t, c.Adopt(number, "b"), "a")
}

func TestLogicalPortsAreNotThoseOfTheMachine(t *testing.T) {
	t.Parallel()
	c := port.NewLogical()
	number := listen(t)
	for _, by := range []string{"a", "b"} { // as on two machines
		if err := c.Static(number, by); err != nil {
			t.Errorf("%s: %v", by, err)
		}
	}
	first, err := c.Dynamic("a", number, nil)
	if err != nil || first != number {
		t.Errorf("the port that is wanted is %d, not %d: %v", number, first, err)
	}
	second, err := c.Dynamic("b", number, nil)
	if err != nil || second == first {
		t.Errorf("port %d is given out twice: %v", second, err)
	}
}
