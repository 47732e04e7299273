package source

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// played is a run played by a test. It ends when it is stopped or killed,
// unless that fails.
type played struct {
	bus     event.Bus
	events  []event.Event // one per second
	lost    error         // Follow returns it after the events
	stopErr error
	killErr error
	stuck   bool // Stop does nothing

	mu     sync.Mutex
	orders []string
	ended  chan struct{}
}

func newPlayed() *played { return &played{ended: make(chan struct{})} }

func (p *played) Past(context.Context) ([]event.Event, error) { return nil, nil }
func (p *played) Subscribe(output bool) *event.Subscription   { return p.bus.Subscribe(output) }

func (p *played) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLocked()
}

func (p *played) endLocked() {
	select {
	case <-p.ended:
	default:
		close(p.ended)
	}
}

func (p *played) Follow(ctx context.Context) error {
	defer p.bus.Close()
	for _, e := range p.events {
		select {
		case <-time.After(time.Second):
			p.bus.PublishAt(time.Now(), e.Alloc, e.Task, e.Body)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if p.lost != nil {
		return p.lost
	}
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *played) Stop(_ context.Context, kill bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	order, err := "stop", p.stopErr
	if kill {
		order, err = "kill", p.killErr
	}
	p.orders = append(p.orders, order)
	if err == nil && (kill || !p.stuck) {
		p.endLocked()
	}
	return err
}

// seen is a screen that records events. It is slow.
type seen struct {
	slow   time.Duration
	broken chan error

	mu    sync.Mutex
	lines []string
}

func (s *seen) Run(ctx context.Context, events *event.Subscription) {
	defer events.Close()
	for e, ok := events.Next(ctx); ok; e, ok = events.Next(ctx) {
		<-time.After(s.slow)
		if n, ok := e.Body.(event.Notice); ok {
			s.Say("shown: " + n.Text)
		}
	}
}

func (s *seen) Say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, text)
}

func (s *seen) SayAfter(_ uint64, text string) { s.Say(text) }

func (s *seen) Broken() <-chan error { return s.broken }

// asked is a question whose answer comes after a while.
type asked struct {
	answer  string
	answers chan string
	open    int
}

func (a *asked) Ask() {
	a.open++
	a.answers = make(chan string, 1)
	time.AfterFunc(2*time.Second, func() { a.answers <- a.answer })
}
func (a *asked) Answers() <-chan string { return a.answers }
func (a *asked) Close()                 { a.open = 0 }

var failed = event.Event{
	Alloc: &event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: "1"}, Body: event.AllocStatus{Status: api.AllocClientStatusFailed, Retry: -1},
}

func notice(text string) event.Event { return event.Event{Body: event.Notice{Text: text}} }

// Decisions are carried out however slow the screen is.
func TestLoopCarriesOutDecisions(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	for name, tt := range map[string]struct {
		policy  verdict.Policy
		play    func(*played, *Loop)
		signals []time.Duration // of SIGINT, after the start
		orders  []bool
		broken  error
		answer  string

		want  []string
		says  []string
		took  time.Duration
		code  int   // exit code of LeftError; 0: the run was not left
		err   error // any other error
		shown bool
	}{
		"it ends by itself": {play: func(p *played, _ *Loop) { p.events = []event.Event{notice("a"), notice("b")}; p.end() }, took: 2 * time.Second, says: []string{"shown: a", "shown: b"}, shown: true},
		"a failure stops it": {
			policy: verdict.Policy{FailFast: true}, play: func(p *played, _ *Loop) { p.events = []event.Event{notice("a"), failed} }, took: 2 * time.Second, want: []string{"stop"},
			says: []string{"j.g[0] failed: stopping", "shown: a"}, shown: true,
		},
		"the timeout stops it":      {policy: verdict.Policy{Timeout: time.Minute}, play: func(_ *played, l *Loop) { l.Timeout = time.Minute }, took: time.Minute, want: []string{"stop"}, says: []string{"the timeout of 1m0s has passed: stopping"}, shown: true},
		"a signal stops it":         {signals: []time.Duration{time.Second}, took: time.Second, want: []string{"stop"}, says: []string{"stopping; press Ctrl-C again to kill"}, shown: true},
		"two signals kill it":       {play: func(p *played, _ *Loop) { p.stuck = true }, signals: []time.Duration{time.Second, 3 * time.Second}, took: 3 * time.Second, want: []string{"stop", "kill"}, says: []string{"killing", "stopping; press Ctrl-C again to kill"}, shown: true},
		"a client stops it":         {orders: []bool{false}, want: []string{"stop"}, says: []string{"stopping: a client requested it"}, shown: true},
		"a client kills it":         {orders: []bool{true}, want: []string{"kill"}, says: []string{"killing: a client requested it"}, shown: true},
		"stdout is closed":          {broken: syscall.EPIPE, want: []string{"stop"}, says: []string{"stdout was closed: stopping"}, shown: true},
		"it cannot be stopped":      {play: func(p *played, _ *Loop) { p.stopErr = no }, signals: []time.Duration{time.Second}, took: time.Second, want: []string{"stop"}, says: []string{"stopping; press Ctrl-C again to kill"}, err: no, shown: true},
		"it cannot be killed":       {play: func(p *played, _ *Loop) { p.killErr = no; time.AfterFunc(time.Minute, p.end) }, orders: []bool{true}, took: time.Minute, want: []string{"kill"}, says: []string{"killing: a client requested it", "no"}, shown: true},
		"it is lost":                {play: func(p *played, _ *Loop) { p.events, p.lost = []event.Event{notice("a")}, no }, took: time.Second, says: []string{"shown: a"}, err: no, shown: true},
		"a signal leaves it":        {policy: verdict.Policy{Outlives: true}, signals: []time.Duration{time.Second}, took: time.Second, code: 130, shown: true},
		"a closed stdout leaves it": {policy: verdict.Policy{Outlives: true}, broken: syscall.EPIPE, code: 141, err: syscall.EPIPE, shown: true},
		"a signal asks: go on":      {policy: verdict.Policy{Outlives: true, First: verdict.Ask}, play: func(p *played, _ *Loop) { time.AfterFunc(time.Minute, p.end) }, signals: []time.Duration{time.Second}, took: time.Minute, shown: true},
		"a signal asks: stop":       {policy: verdict.Policy{Outlives: true, First: verdict.Ask}, answer: "s", signals: []time.Duration{time.Second}, took: 3 * time.Second, want: []string{"stop"}, says: []string{"stopping; press Ctrl-C to leave the run"}, shown: true},
		"a signal asks: leave":      {policy: verdict.Policy{Outlives: true, First: verdict.Ask}, answer: "l", signals: []time.Duration{time.Second}, took: 3 * time.Second, code: 130, shown: true},
		"a signal asks, again":      {policy: verdict.Policy{Outlives: true, First: verdict.Ask}, signals: []time.Duration{time.Second, 2 * time.Second}, took: 2 * time.Second, code: 130, shown: true},
		"the first signal kills it": {policy: verdict.Policy{Outlives: true, First: verdict.Kill}, signals: []time.Duration{time.Second}, took: time.Second, want: []string{"kill"}, says: []string{"killing; press Ctrl-C again to leave the run"}, shown: true},
	} {
		for _, slow := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				p, screen, q := newPlayed(), &seen{broken: make(chan error, 1)}, &asked{answer: tt.answer}
				signals, orders := make(chan os.Signal, 2), make(chan bool, 1)
				l := &Loop{
					Source: p, Decider: verdict.New(tt.policy, nil), Screen: screen, Output: true,
					Signals: signals, Codes: map[os.Signal]int{os.Interrupt: verdict.Interrupt}, Orders: orders, Question: q,
				}
				if tt.play != nil {
					tt.play(p, l)
				}
				if slow {
					screen.slow = 10 * time.Second
				}
				for _, after := range tt.signals {
					time.AfterFunc(after, func() { signals <- os.Interrupt })
				}
				for _, kill := range tt.orders {
					orders <- kill
				}
				if tt.broken != nil {
					screen.broken <- tt.broken
				}
				began := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err := l.Run(ctx)
				if took := time.Since(began); took != tt.took {
					t.Errorf("%s, slow %t: took %v, want %v", name, slow, took, tt.took)
				}
				code := 0
				var left *LeftError
				if errors.As(err, &left) {
					code = left.Code
				}
				if code != tt.code || tt.err != nil && !errors.Is(err, tt.err) || tt.err == nil && code == 0 && err != nil {
					t.Errorf("%s, slow %t: code %d, error %v", name, slow, code, err)
				}
				if shown := l.Shown(ctx); !slow && shown != tt.shown {
					t.Errorf("%s: shown %t", name, shown)
				}
				cancel()
				synctest.Wait()
				if !slices.Equal(p.orders, tt.want) {
					t.Errorf("%s, slow %t: orders %q, want %q", name, slow, p.orders, tt.want)
				}
				slices.Sort(screen.lines)
				if !slow && !slices.Equal(screen.lines, tt.says) {
					t.Errorf("%s: says %q, want %q", name, screen.lines, tt.says)
				}
				if q.open != 0 {
					t.Errorf("%s: the question is still open", name)
				}
			})
		}
	}
}

// A run that is ready is left, at once if it was ready from the start.
func TestLoopLeavesWhatIsReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &Loop{Source: newPlayed(), Decider: verdict.NewReady(nil, verdict.Until{}, time.Time{})}
		began := time.Now()
		var left *LeftError
		if err := l.Run(t.Context()); !errors.As(err, &left) || left.Code != 0 || time.Since(began) > 0 {
			t.Errorf("error %v after %v", err, time.Since(began))
		}
		if !l.Shown(t.Context()) {
			t.Error("Shown waits without a screen")
		}
	})
}

// The user need not wait for a slow reader of stdout: a signal, the end of the
// context, or leaving the run ends the wait.
func TestWaitForShownIsLimited(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		signals []time.Duration
		cancel  time.Duration // 0: never
		shown   bool
		took    time.Duration // after the end of the run, or after leaving it
	}{
		"a reader that is slow":  {nil, 0, true, time.Hour},
		"a signal":               {[]time.Duration{time.Minute}, 0, false, time.Minute - time.Second},
		"the end of the context": {nil, time.Minute, false, time.Minute - time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, screen, signals := newPlayed(), &seen{slow: time.Hour}, make(chan os.Signal, 2)
			p.events = []event.Event{notice("a")}
			p.end()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.cancel > 0 {
				time.AfterFunc(tt.cancel, cancel)
			}
			for _, after := range tt.signals {
				time.AfterFunc(after, func() { signals <- os.Interrupt })
			}
			l := &Loop{Source: p, Decider: verdict.New(verdict.Policy{}, nil), Screen: screen, Signals: signals}
			if err := l.Run(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			began := time.Now()
			if shown := l.Shown(ctx); shown != tt.shown || (time.Since(began)-tt.took).Abs() > ReadTime {
				t.Errorf("%s: shown %t after %v", name, shown, time.Since(began))
			}
			<-l.shown
		})
	}
}

// The error after the end of the context is its cause.
func TestLoopEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := errors.New("late")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, late)
		defer cancel()
		l := &Loop{Source: newPlayed(), Decider: verdict.New(verdict.Policy{}, nil), Screen: &seen{}}
		if err := l.Run(ctx); !errors.Is(err, late) || !l.Shown(ctx) {
			t.Errorf("error %v", err)
		}
	})
}

// A run that did not start leaves nothing behind.
func TestLoopThatDoesNotRun(t *testing.T) {
	t.Parallel()
	p := newPlayed()
	l := &Loop{Source: p, Decider: verdict.New(verdict.Policy{}, nil), Screen: &seen{}}
	l.Begin()
	l.Close()
	p.bus.Publish(nil, "", event.Notice{Text: "a"})
	if l.showing.Ready() && func() bool { _, ok := l.showing.Next(t.Context()); return ok }() {
		t.Error("it is still subscribed")
	}
}

// A replay publishes the past, unless Past has returned it.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, past := range []bool{false, true} {
		r := NewReplay([]event.Event{notice("a"), notice("b")})
		sub := r.Subscribe(false)
		want := "ab"
		if past {
			if events, err := r.Past(t.Context()); len(events) != 2 || err != nil {
				t.Errorf("past %v, %v", events, err)
			}
			want = ""
		}
		if err := errors.Join(r.Follow(t.Context()), r.Stop(t.Context(), true)); err != nil {
			t.Error(err)
		}
		var got strings.Builder
		for e, ok := sub.Next(t.Context()); ok; e, ok = sub.Next(t.Context()) {
			got.WriteString(e.Body.(event.Notice).Text)
		}
		if got.String() != want {
			t.Errorf("published %q, want %q", got.String(), want)
		}
	}
}
