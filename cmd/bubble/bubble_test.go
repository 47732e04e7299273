package bubble

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// roles are functions that need a process of their own: a bubble cannot be entered
// from a test, and some of them spoil their process.
var roles = map[string]func(){
	"time":     roleTime,
	"panic":    rolePanic,
	"leftover": roleLeftover,
	"blocked":  roleBlocked,
	"limit":    roleLimit,
	"endless":  roleEndless,
	"canceled": roleCanceled,
	"settle":   roleSettle,
}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv("BUBBLE_ROLE")]; role != nil {
		role()
		return
	}
	os.Exit(m.Run())
}

// play runs a role and compares its output. Arguments are those of package testing,
// which must not see them.
func play(t *testing.T, role, want string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=nothing", "-test.v", "-test.unknown")
	cmd.Env = append(os.Environ(), "BUBBLE_ROLE="+role)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, want := strings.TrimSpace(string(out)), strings.TrimSpace(want); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func roleTime() {
	for range 3 {
		err := Run(context.Background(), Limits{}, func(ctx context.Context) error {
			begin := time.Now()
			err := Sleep(ctx, 100*time.Hour)
			fmt.Println(begin.UTC(), time.Since(begin), err)
			return errors.New("of the function")
		})
		fmt.Println(err)
	}
}

func TestTimeJumps(t *testing.T) {
	t.Parallel()
	play(t, "time", strings.Repeat("2026-01-01 00:00:00 +0000 UTC 100h0m0s <nil>\nof the function\n", 3))
}

func rolePanic() {
	err := Run(context.Background(), Limits{}, func(context.Context) error {
		go func() { <-time.After(time.Second) }()
		panic("broken")
	})
	fmt.Println(err)
	p, ok := errors.AsType[*PanicError](err)
	fmt.Println(ok && strings.Contains(string(p.Stack), "bubble.rolePanic.func1"))
	fmt.Println(Run(context.Background(), Limits{}, func(context.Context) error { return nil }))
}

func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	play(t, "panic", `
panic: broken; goroutines are left behind: taskrun/cmd/bubble.rolePanic.func1.1 (chan receive (durable))
true
<nil>`)
}

func waits(c <-chan int) { <-c }

func roleLeftover() {
	for range 3 {
		fmt.Println(Run(context.Background(), Limits{}, func(context.Context) error {
			go waits(make(chan int))
			go func() { <-time.After(time.Hour) }()
			ended := make(chan int)
			go waits(ended)
			close(ended) // this one may take its time
			return nil
		}))
	}
}

func TestLeftoverGoroutinesAreNamed(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "BUBBLE_ROLE=leftover")
	got, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	lines := strings.Split(strings.TrimSpace(string(got)), "\n")
	if len(lines) != 3 {
		t.Fatalf("got %q", lines)
	}
	for _, line := range lines { // in either order
		for _, part := range []string{"goroutines are left behind: ", "bubble.waits (chan receive (durable))", "roleLeftover.func1.1 (chan receive (durable))"} {
			if !strings.Contains(line, part) || strings.Count(line, "(durable)") != 2 {
				t.Errorf("%q lacks %q", line, part)
			}
		}
	}
}

func roleBlocked() {
	outside := make(chan int)
	err := Run(context.Background(), Limits{Still: 50 * time.Millisecond}, func(ctx context.Context) error {
		_ = Sleep(ctx, 90*time.Minute)
		go func() { <-ctx.Done() }()
		waits(outside)
		return nil
	})
	fmt.Println(err)
	stalled, ok := errors.AsType[*StalledError](err)
	fmt.Println(ok && strings.Contains(Stacks(stalled), "roleBlocked"))
	fmt.Println(Run(context.Background(), Limits{}, func(context.Context) error { panic("not called") }))
}

func TestBlockedClockIsReported(t *testing.T) {
	t.Parallel()
	play(t, "blocked", `
virtual time has stood still since 1h30m0s: taskrun/cmd/bubble.waits (chan receive)
true
an earlier function has not ended: virtual time has stood still since 1h30m0s: taskrun/cmd/bubble.waits (chan receive)`)
}

func roleLimit() {
	err := Run(context.Background(), Limits{Virtual: 100 * time.Second}, func(ctx context.Context) error {
		<-ctx.Done()
		fmt.Println(time.Since(Begin))
		return context.Cause(ctx)
	})
	_, ok := errors.AsType[*LimitError](err)
	fmt.Println(ok, err)
}

func TestVirtualTimeIsLimited(t *testing.T) {
	t.Parallel()
	play(t, "limit", "1m40s\ntrue not over after 1m40s of virtual time")
}

func roleEndless() {
	fmt.Println(Run(context.Background(), Limits{Virtual: time.Hour}, func(context.Context) error {
		for {
			<-time.After(time.Second)
		}
	}))
}

func TestFunctionThatIgnoresItsLimitIsLeft(t *testing.T) {
	t.Parallel()
	play(t, "endless", "not over after 1h0m0s of virtual time")
}

func roleCanceled() {
	ctx, cancel := context.WithCancelCause(context.Background())
	err := Run(ctx, Limits{Virtual: math.MaxInt64}, func(ctx context.Context) error {
		_ = Sleep(ctx, 48*time.Hour)
		cancel(errors.New("interrupted"))
		err := Sleep(ctx, 48*time.Hour)
		fmt.Println(time.Since(Begin))
		return err
	})
	fmt.Println(err)
	fmt.Println(Run(ctx, Limits{}, func(ctx context.Context) error { return Sleep(ctx, time.Hour) }))
}

func TestOuterContextEndsTheFunction(t *testing.T) {
	t.Parallel()
	play(t, "canceled", "48h1m0s\ninterrupted\ninterrupted")
}

func roleSettle() {
	fmt.Println(Run(context.Background(), Limits{}, func(ctx context.Context) error {
		n, c := 0, make(chan int)
		for range 100 {
			go func() {
				<-time.After(time.Minute)
				c <- 1
			}()
		}
		go func() {
			for range 100 {
				n += <-c
			}
		}()
		err := Sleep(ctx, time.Minute)
		fmt.Println(n)
		return err
	}))
}

func TestSleepSettlesTheInstant(t *testing.T) {
	t.Parallel()
	play(t, "settle", "100\n<nil>")
}

func TestWatchdog(t *testing.T) {
	t.Parallel()
	durable := Goroutine{ID: "1", State: "select (durable)"}
	waiting := Goroutine{ID: "2", State: "IO wait"}
	other := Goroutine{ID: "3", State: "IO wait"}
	running := Goroutine{ID: "2", State: "running"}
	for _, c := range []struct {
		name string
		at   func(look int) (minute int, awake Goroutine)
		want int // look at which it gives up; 0: never
	}{
		{"blocked", func(int) (int, Goroutine) { return 0, waiting }, looks + 1},
		{"moves", func(n int) (int, Goroutine) { return n, waiting }, 0},
		{"moves now and then", func(n int) (int, Goroutine) { return n / looks, waiting }, 0},
		{"each look another one", func(n int) (int, Goroutine) { return 0, []Goroutine{waiting, other}[n%2] }, busy + 1},
		{"computes", func(int) (int, Goroutine) { return 0, running }, busy + 1},
		{"all wait", func(int) (int, Goroutine) { return 0, durable }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dog, got := watchdog{}, 0
			for n := 1; n < 10*busy && got == 0; n++ {
				minute, g := c.at(n)
				if err := dog.look(Begin.Add(time.Duration(minute)*time.Minute), func() []Goroutine { return []Goroutine{durable, g} }); err != nil {
					got = n
				}
			}
			if got != c.want {
				t.Errorf("gave up at look %d, want %d", got, c.want)
			}
		})
	}
}
