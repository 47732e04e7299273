package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"taskrun/cmd/jobtest/worker"
	"taskrun/jobspec"
)

// patience is how long anything may take to happen.
const patience = time.Minute

const roleVar = "TASKRUN_TEST_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) != "" {
		if err := worker.Serve(context.Background(), os.Stdin, os.Stdout, play); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// play plays a run in the workers of the tests.
func play(ctx context.Context, o worker.Order) worker.Result {
	result := worker.Result{Elapsed: time.Duration(o.Seed)}
	switch o.Run {
	case "fails":
		result.Failures = []worker.Failure{{Diagnostic: jobspec.Diagnostic{Summary: "no"}, Targets: []string{"a[0]"}}}
	case "last":
		result.Last = true
		result.Notices = []string{strconv.Itoa(os.Getpid())}
	case "pid":
		result.Notices = []string{strconv.Itoa(os.Getpid())}
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		<-ctx.Done()
	case "panics":
		go func() { panic("oh") }()
		<-ctx.Done()
	case "cut": // its output ends before it says where
		fmt.Fprintln(os.Stderr, "panic: oh")
		os.Exit(2)
	case "garbage":
		fmt.Println("PASS")
		<-ctx.Done()
	case "until the end":
		touch(o.Dir)
		<-ctx.Done()
	case "deaf":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT) //nolint:forbidigo // it starts nothing
		touch(o.Dir)
		select {}
	}
	return result
}

// touch tells the test, which waits at a FIFO, that a run has begun.
func touch(fifo string) {
	f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err == nil {
		_ = f.Close()
	}
}

func pool(size int) *worker.Pool {
	return &worker.Pool{Size: size, Grace: patience, Died: func() {}, New: func() *exec.Cmd {
		self, err := os.Executable()
		if err != nil {
			panic(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), roleVar+"=1")
		return cmd
	}}
}

func orders(runs ...string) (list []worker.Order) {
	for i, run := range runs {
		list = append(list, worker.Order{File: "f", Run: run, Seed: uint64(i)})
	}
	return list
}

// results plays orders and returns the result of each by its number.
func results(t *testing.T, p *worker.Pool, list []worker.Order) map[int]worker.Result {
	t.Helper()
	got := map[int]worker.Result{}
	err := p.Play(t.Context(), list, func(i int, r worker.Result) bool { got[i] = r; return true })
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestEveryOrderHasItsResult(t *testing.T) {
	t.Parallel()
	list := orders(slices.Repeat([]string{"passes", "fails"}, 20)...)
	list[7].Real, list[8].Real, list[30].Real = true, true, true
	got := results(t, pool(3), list)
	for i, o := range list {
		if r := got[i]; r.Elapsed != time.Duration(i) || (len(r.Failures) > 0) != (o.Run == "fails") {
			t.Errorf("%d: %+v", i, r)
		}
	}
	want := worker.Failure{Diagnostic: jobspec.Diagnostic{Summary: "no"}, Targets: []string{"a[0]"}}
	if diff := cmp.Diff([]worker.Failure{want}, got[1].Failures); diff != "" {
		t.Error(diff)
	}
}

// TestDeath: a worker that dies is the failure of its run alone. It is reported once it
// is gone, before there is another.
func TestDeath(t *testing.T) {
	t.Parallel()
	p := pool(1)
	var last *exec.Cmd
	command, begun, died := p.New, 0, []int{}
	p.New = func() *exec.Cmd {
		last, begun = command(), begun+1
		return last
	}
	p.Died = func() {
		if last.ProcessState == nil {
			t.Error("a worker died, but was not waited for")
		}
		died = append(died, begun)
	}
	got := results(t, p, orders("passes", "killed", "panics", "passes", "garbage", "passes", "cut"))
	if !slices.Equal(died, []int{1, 2, 3, 4}) || begun != 4 {
		t.Errorf("of %d workers %v died", begun, died)
	}
	for i, want := range map[int]string{
		1: `the process that played "killed" died: signal: killed`,
		2: `the process that played "panics" died: panic: oh`,
		4: `the process that played "garbage" died: exit status 0`,
		6: `the process that played "cut" died: panic: oh`,
	} {
		failures := got[i].Failures
		if len(failures) != 1 || failures[0].Summary != want {
			t.Errorf("%d: %+v, want %s", i, failures, want)
		}
	}
	if f := got[2].Failures[0]; !strings.Contains(f.Detail, "worker_test.play.func1") || !strings.Contains(f.Stack, "worker_test.go:") {
		t.Errorf("the crash is told as %q with the stack %s", f.Detail, f.Stack)
	}
	for _, i := range []int{0, 3, 5} {
		if len(got[i].Failures) > 0 {
			t.Errorf("%d: %+v", i, got[i])
		}
	}
}

// TestLast: after its last run a worker gives way to a new one.
func TestLast(t *testing.T) {
	t.Parallel()
	got := results(t, pool(1), orders("pid", "last", "pid", "pid"))
	pid := func(i int) string { return got[i].Notices[0] }
	if pid(0) != pid(1) || pid(1) == pid(2) || pid(2) != pid(3) {
		t.Errorf("%s %s %s %s", pid(0), pid(1), pid(2), pid(3))
	}
}

// TestLimit: once a run says so, only those before it are played.
func TestLimit(t *testing.T) {
	t.Parallel()
	list := orders(slices.Repeat([]string{"passes"}, 40)...)
	list[10].Run, list[15].Run = "fails", "fails"
	list[20].Real, list[20].Run = true, "fails" // real ones begin first
	got := map[int]bool{}
	err := pool(2).Play(t.Context(), list, func(i int, r worker.Result) bool {
		got[i] = true
		return len(r.Failures) == 0
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 11 {
		if !got[i] {
			t.Errorf("%d was not played", i)
		}
	}
	if len(got) == len(list) {
		t.Error("all were played")
	}
}

// TestInterrupt: when the context ends no worker outlives Play, whether it listens
// or not.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, run := range []string{"until the end", "deaf"} {
		t.Run(run, func(t *testing.T) {
			t.Parallel()
			p := pool(2)
			if run == "deaf" {
				p.Grace = 100 * time.Millisecond
			}
			fifo := t.TempDir() + "/begun"
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			list := orders(run, "passes", "passes")
			list[0].Dir = fifo
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				defer cancel()
				f, err := os.Open(fifo) // until the run has begun
				if err == nil {
					_ = f.Close()
				}
			}()
			var started []*exec.Cmd
			command := p.New
			lock := make(chan struct{}, 1)
			p.New = func() *exec.Cmd {
				cmd := command()
				lock <- struct{}{}
				started = append(started, cmd)
				<-lock
				return cmd
			}
			err := p.Play(ctx, list, func(i int, r worker.Result) bool {
				if i == 0 {
					t.Errorf("the run that was interrupted has a result: %+v", r)
				}
				return true
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			for _, cmd := range started {
				if cmd.ProcessState == nil {
					t.Error("a worker was left behind")
				}
			}
		})
	}
}

func TestNoWorker(t *testing.T) {
	t.Parallel()
	p := &worker.Pool{Size: 2, New: func() *exec.Cmd { return exec.Command("/nonexistent/worker") }}
	err := p.Play(t.Context(), orders("passes", "passes"), func(int, worker.Result) bool {
		t.Error("there is a result")
		return true
	})
	if err == nil || !strings.Contains(err.Error(), "cannot start a worker for job tests") {
		t.Errorf("got %v", err)
	}
}

// An order that cannot be read ends the worker.
func TestUnreadableOrder(t *testing.T) {
	t.Parallel()
	play := func(context.Context, worker.Order) worker.Result { return worker.Result{} }
	err := worker.Serve(t.Context(), strings.NewReader("odd"), io.Discard, play)
	if err == nil || !strings.HasPrefix(err.Error(), "cannot read which job test to play: ") {
		t.Errorf("error %v", err)
	}
}
