package early

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv(RoleVar) == WatchRole {
		fmt.Print(state())
		os.Exit(0)
	}
	m.Run()
}

// state describes this process after its initialization: its name, the signals that
// it ignores, its descriptors, and the rest of its pipe.
func state() string {
	name, _ := os.ReadFile("/proc/self/comm")
	status, _ := os.ReadFile("/proc/self/status")
	_, ignored, _ := strings.Cut(string(status), "SigIgn:\t")
	var mask uint64
	_, _ = fmt.Sscanf(ignored, "%x", &mask)
	var signals, open []string
	for bit := range 31 {
		if mask&(1<<bit) != 0 {
			signals = append(signals, fmt.Sprint(bit+1))
		}
	}
	for fd := range 20 {
		if target, err := os.Readlink(fmt.Sprint("/proc/self/fd/", fd)); err == nil && strings.Contains(target, "held") {
			open = append(open, fmt.Sprint(fd))
		}
	}
	rest, _ := io.ReadAll(os.NewFile(PipeFD, "pipe"))
	return fmt.Sprintf("%s ignores %s, has %s, leaves %q", strings.TrimSpace(string(name)), strings.Join(signals, " "), strings.Join(open, " "), rest)
}

// The keeper of a run in the foreground waits for its pipe before the rest of the
// program is initialized. It then ignores signals, has the name of the program,
// and no descriptors but its own.
func TestKeeperWaitsEarly(t *testing.T) {
	t.Parallel()
	if _, _, errno := syscall.RawSyscall(sysCloseRange, 1<<30, 1<<30, 0); errno != 0 {
		t.Skipf("this kernel cannot close a range: %v", errno)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	keeper := exec.Command(os.Args[0])
	keeper.Env = append(os.Environ(), RoleVar+"="+WatchRole)
	keeper.ExtraFiles = []*os.File{r}
	for range 4 { // the record, the claim, the lock, and one that is not the keeper's
		held, err := os.CreateTemp(t.TempDir(), "held")
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		keeper.ExtraFiles = append(keeper.ExtraFiles, held)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := keeper.Output()
	if want := `taskrun ignores 1 2 3 10 12 13 14 15, has 4 5 6, leaves ""`; string(got) != want || err != nil {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
