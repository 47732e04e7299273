package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// ReadTime is how long a reader of stdout may take when the user wants this
// process to end.
const ReadTime = time.Second

// Screen shows a run.
type Screen interface {
	// Run shows events until the end of the subscription or ctx.
	Run(ctx context.Context, events *event.Subscription)
	// Say shows a message at once.
	Say(text string)
	// SayAfter shows a message after the event with a sequence number.
	SayAfter(seq uint64, text string)
	// Broken receives the error when stdout can no longer be written to.
	Broken() <-chan error
}

// Decider decides what to do with a run, see package verdict.
type Decider interface {
	Observe(e event.Event) verdict.Decision
	Due() (at time.Time, ok bool)
	Tick(now time.Time) verdict.Decision
	Overdue() verdict.Decision
	Signal(sig os.Signal, code int) verdict.Decision
	Answer(answer string) verdict.Decision
	Ordered(kill bool) verdict.Decision
	Closed(err error) verdict.Decision
	Left() int
	Impatient() bool
}

// Question asks the user what to do with a run.
type Question interface {
	Ask()
	Answers() <-chan string
	Close() // there is an answer, or none is needed any more
}

// LeftError says that this process has left a run, which continues.
type LeftError struct {
	Code int   // exit code
	Err  error // error of stdout; nil for another reason
}

func (e *LeftError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("detached from the run with exit code %d", e.Code)
}

func (e *LeftError) Unwrap() error { return e.Err }

// Loop follows a run until it has ended or is left. All fields except Source
// and Decider are optional.
type Loop struct {
	Source  Source
	Decider Decider
	Screen  Screen
	Output  bool // whether the screen shows output
	Say     func(text string)
	Signals <-chan os.Signal
	Codes   map[os.Signal]int // exit codes of signals
	Orders  <-chan bool       // true: kill the run
	Timeout time.Duration     // 0: none
	// Question is asked on the decision Ask.
	Question Question
	// Seen is called with each event, and Decided before a decision is carried
	// out.
	Seen    func(e event.Event)
	Decided func()

	showing, deciding *event.Subscription
	shown             chan struct{}
	orderErrs         chan error
	leave             context.CancelFunc
	left, failure     error
}

// Begin subscribes to the source: Run misses no event from now on. Run or Close must
// be called next.
func (l *Loop) Begin() {
	if l.Screen != nil {
		l.showing = l.Source.Subscribe(l.Output)
	}
	l.deciding = l.Source.Subscribe(false)
}

// Close ends the subscriptions of Begin, if Run is not called.
func (l *Loop) Close() {
	if l.showing != nil {
		l.showing.Close()
	}
	l.deciding.Close()
}

// Run follows the run until it has ended or is left. The error is that of the source,
// the cause of ctx, or a LeftError. The screen may be behind: see Shown.
func (l *Loop) Run(ctx context.Context) error {
	if l.deciding == nil {
		l.Begin()
	}
	following, leave := context.WithCancel(ctx)
	defer leave()
	l.leave, l.orderErrs, l.shown = leave, make(chan error), make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- l.Source.Follow(following) }()
	var broken <-chan error
	if l.Screen == nil {
		close(l.shown)
	} else {
		broken = l.Screen.Broken()
		go func() {
			defer close(l.shown)
			l.Screen.Run(ctx, l.showing)
		}()
		if l.Say == nil {
			l.Say = l.Screen.Say
		}
	}
	l.failure = l.decide(ctx, broken, ended)
	l.closeQuestion()
	if l.left != nil {
		return l.left
	}
	return l.failure
}

// decide carries out all decisions, until the run has ended or was left.
func (l *Loop) decide(ctx context.Context, broken, ended <-chan error) (failure error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := Each(ctx, l.deciding)
	var timeout <-chan time.Time
	if l.Timeout != 0 {
		timeout = time.After(l.Timeout)
	}
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	l.obey(ctx, l.Decider.Tick(time.Now()))
	for events != nil || ended != nil {
		var answers <-chan string
		if l.Question != nil {
			answers = l.Question.Answers()
		}
		due.Stop()
		if at, ok := l.Decider.Due(); ok {
			due.Reset(time.Until(at))
		}
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			if l.Seen != nil {
				l.Seen(e)
			}
			l.obeyAfter(ctx, e.Seq, l.Decider.Observe(e))
		case failure = <-ended:
			ended = nil
		case now := <-due.C:
			l.obey(ctx, l.Decider.Tick(now))
		case <-timeout:
			l.obey(ctx, l.Decider.Overdue())
		case err := <-broken:
			d := l.Decider.Closed(err)
			if d.Action == verdict.Leave {
				l.leaveFor(&LeftError{Code: l.Decider.Left(), Err: err})
			}
			l.obey(ctx, d)
		case sig := <-l.Signals:
			l.obey(ctx, l.Decider.Signal(sig, l.Codes[sig]))
		case kill := <-l.Orders:
			l.obey(ctx, l.Decider.Ordered(kill))
		case answer := <-answers:
			l.closeQuestion()
			l.obey(ctx, l.Decider.Answer(answer))
		case err := <-l.orderErrs:
			l.leaveFor(err)
		}
	}
	return failure
}

func (l *Loop) obey(ctx context.Context, d verdict.Decision) { l.obeyAfter(ctx, 0, d) }

// obeyAfter carries out a decision that an event with a number has caused; 0
// means none.
func (l *Loop) obeyAfter(ctx context.Context, seq uint64, d verdict.Decision) {
	if l.Decided != nil {
		l.Decided()
	}
	switch d.Action {
	case verdict.CarryOn:
	case verdict.Ask:
		l.Question.Ask()
	case verdict.Leave:
		l.leaveFor(&LeftError{Code: l.Decider.Left()})
	case verdict.Stop, verdict.Kill:
		go l.order(ctx, d.Action == verdict.Kill) // it may take long, and must not delay signals
	}
	switch {
	case d.Say == "" || l.Say == nil:
	case seq > 0 && l.Screen != nil:
		l.Screen.SayAfter(seq, d.Say)
	default:
		l.Say(d.Say)
	}
}

// order stops or kills the run. If it cannot be stopped, it is left; if it cannot be
// killed, the loop waits for its end.
func (l *Loop) order(ctx context.Context, kill bool) {
	err := l.Source.Stop(ctx, kill)
	switch {
	case err == nil:
	case kill && l.Say != nil:
		l.Say(err.Error())
	case !kill:
		select {
		case l.orderErrs <- err:
		case <-ctx.Done():
		}
	}
}

// leaveFor leaves the run for a reason; only the first one counts.
func (l *Loop) leaveFor(why error) {
	l.left = cmp.Or(l.left, why)
	l.closeQuestion() // it may hold back events
	l.leave()
}

func (l *Loop) closeQuestion() {
	if l.Question != nil {
		l.Question.Close()
	}
}

// Shown waits, after Run, until the screen has shown everything, and reports
// whether it has. It waits no longer than ReadTime if the user wants this
// process to end.
func (l *Loop) Shown(ctx context.Context) bool {
	var patience <-chan time.Time
	if l.Decider.Impatient() || l.left != nil || errors.Is(l.failure, ErrGivenUp) {
		patience = time.After(ReadTime)
	}
	done := ctx.Done()
	for {
		select {
		case <-l.shown:
			return true
		case <-patience:
			return false
		case <-done:
			done, patience = nil, time.After(ReadTime)
		case sig := <-l.Signals:
			l.Decider.Signal(sig, l.Codes[sig])
			return false
		}
	}
}
