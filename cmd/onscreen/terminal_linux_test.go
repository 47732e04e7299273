package onscreen

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"taskrun/cmd/client"
	"taskrun/cmd/console"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/screen"
	"taskrun/cmd/ui/terminaltest"
	"taskrun/engine/leaf/event"
)

func TestMain(m *testing.M) {
	role := os.Getenv(terminaltest.RoleEnv)
	switch {
	case role == "":
		os.Exit(m.Run())
	case len(os.Args) > 1: // a command that the screen has handed the terminal to
		fmt.Println(strings.Join(os.Args[1:], " "), os.Getenv("TASKRUN_TOKEN"))
		os.Exit(map[string]int{"exec": 3}[os.Args[1]])
	default:
		os.Exit(show(role))
	}
}

// living is a run that continues until it is stopped.
type living struct {
	bus  event.Bus
	stop chan bool
}

func (*living) Past(context.Context) ([]event.Event, error) { return nil, nil }

func (r *living) Subscribe(output bool) *event.Subscription { return r.bus.Subscribe(output) }

func (r *living) Follow(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case kill := <-r.stop:
		r.bus.Publish(nil, "", event.Notice{Text: fmt.Sprint("killed: ", kill)})
		r.bus.Close()
	}
	return ctx.Err()
}

func (r *living) Stop(_ context.Context, kill bool) error {
	r.stop <- kill
	return nil
}

// show shows a run, which is the own one in that role, and says how the screen ended.
func show(role string) int {
	s := &Session{
		Console: &console.Console{Streams: ui.System(), Environ: append(os.Environ(), "A=b")},
		Outputs: func([]screen.Target, int) Output { return &endless{} },
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	s.At.BindCluster(flags)
	_ = flags.Parse([]string{"--token=T"})
	server := httptest.NewServer(&fakeCluster{})
	s.Server, _ = client.Remote(client.Cluster{Address: server.URL})
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGTERM)
	run := &living{stop: make(chan bool, 1)}
	if role == "own" {
		s.Own = &OwnRun{From: run, Caught: caught}
	}
	err := s.Show(context.Background(), run, options())
	fmt.Println("left with", err)
	if s.Own == nil {
		return 0
	}
	fmt.Printf("alone: %v, cause: %q\n", s.Own.Alone, s.Own.Cause)
	return s.Own.Code
}

// open opens the screen in a role, and waits for its first content.
func open(t *testing.T, role string) *terminaltest.User {
	t.Helper()
	u := terminaltest.Start(t, role)
	u.Resize(110, 24)
	u.Sees("app")
	return u
}

// The screen of a run measures its tasks, hands the terminal over to commands in them,
// and leaves the run alone.
func TestScreen(t *testing.T) {
	t.Parallel()
	u := open(t, "other")
	u.Sees(`12\.5`)
	u.Types("?", "Everywhere")
	u.Types("?", "app")
	u.Types("m", "can.*select")
	u.Types("m", "askrun has")
	u.Types("y", `\x1b\]52;c;`)
	u.Sees("copied")
	u.Types("e", "exec  ?in ")
	u.Sees(`exec --address= ` + alloc.ID + `/app -- sh -c command -v bash .* T\r`)
	if u.IsTaken() {
		t.Error("a command gets the terminal as it is on the screen")
	}
	u.Sees("exit code 3: press Enter ")
	u.Types("\n", "app")
	u.Types("a", "flush")
	u.Types("\r", "action flush in ")
	u.Sees(`action --address= ` + alloc.ID + `/app -- flush T\r`)
	u.Sees("done: press Enter ")
	u.Types("\n", "app")
	u.Types("q", "left with <nil>")
	u.Ended(0)
}

// The own run is stopped by a signal or by the user, or left in the background.
func TestScreenOfTheOwnRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		leave func(*terminaltest.User)
		says  string
		code  int
	}{
		{"stop", func(u *terminaltest.User) { u.Types("q", "leave"); u.Types("s", "left with") }, `alone: false, cause: "you stopped it"`, 0},
		{"background", func(u *terminaltest.User) { u.Types("q", "leave"); u.Types("l", "left with") }, `alone: true, cause: ""`, 0},
		{"signal", func(u *terminaltest.User) { _ = u.Cmd.Process.Signal(syscall.SIGTERM) }, `alone: false, cause: "terminated"`, 143},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u := open(t, "own")
			tt.leave(u)
			u.Sees(tt.says)
			u.Ended(tt.code)
		})
	}
}
