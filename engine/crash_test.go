package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// machine runs tasks. It outlives engines.
type machine struct {
	*mock.Driver
	mu     sync.Mutex
	starts map[string]int // by task
	ids    []string       // IDs of the driver's tasks
}

// leftover returns a task that no engine has ended, or "".
func (m *machine) leftover() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range m.ids {
		if _, err := m.InspectTask(id); err == nil {
			return id
		}
	}
	return ""
}

// started returns how many times a task was started.
func (m *machine) started(task string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.starts[task]
}

func (m *machine) counts() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.starts)
}

// link is the driver of one engine: it has the tasks that the engine has
// started or recovered, and stops working when the engine is dead.
type link struct {
	*machine
	dead  *atomic.Bool
	mu    sync.Mutex
	known map[string]bool
}

var errDead = errors.New("the engine is dead")

func (l *link) check(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.dead.Load():
		return errDead
	case !l.known[id]:
		return drivers.ErrTaskNotFound
	}
	return nil
}

func (l *link) know(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[id] = true
}

func (l *link) StartTask(ctx context.Context, cfg *drivers.TaskConfig) (*drivers.TaskHandle, *drivers.Network, error) {
	if l.dead.Load() {
		return nil, nil, errDead
	}
	handle, network, err := l.Driver.StartTask(ctx, cfg)
	if err == nil {
		l.know(cfg.ID)
		l.machine.mu.Lock()
		l.starts[cfg.Name]++
		l.ids = append(l.ids, cfg.ID)
		l.machine.mu.Unlock()
	}
	return handle, network, err
}

// RecoverTask finds every task that was started and not destroyed.
func (l *link) RecoverTask(handle *drivers.TaskHandle) error {
	if l.dead.Load() {
		return errDead
	}
	if _, err := l.Driver.InspectTask(handle.Config.ID); err != nil {
		return err
	}
	l.know(handle.Config.ID)
	return nil
}

func (l *link) WaitTask(ctx context.Context, id string) (<-chan *drivers.ExitResult, error) {
	switch err := l.check(id); {
	case errors.Is(err, errDead):
		return make(chan *drivers.ExitResult), nil
	case err != nil:
		return nil, err
	}
	return l.Driver.WaitTask(ctx, id)
}

func (l *link) StopTask(ctx context.Context, id string, timeout time.Duration, signal string) error {
	if err := l.check(id); err != nil {
		return err
	}
	return l.Driver.StopTask(ctx, id, timeout, signal)
}

func (l *link) DestroyTask(id string, force bool) error {
	if err := l.check(id); err != nil {
		return err
	}
	return l.Driver.DestroyTask(id, force)
}

// scenario is a run whose engines die.
type scenario struct {
	job     func() *api.Job
	actions map[time.Duration]func(*engine.Engine)
	lasts   time.Duration // then it is stopped
	// lost says that an action may be lost with the engine that should carry it
	// out.
	lost bool
	// every says to try only each every-th point; 0: all.
	every int
}

// outcome is the part of two runs that is compared.
type outcome struct {
	History map[string][]string // lines of events.json by "allocation task"
	States  map[string]string   // last known state, by "allocation task"
	Starts  map[string]int
}

// play runs a scenario in virtual time. The engine dies at the given write, and
// each later one as well; 0: never. It returns how many writes the last engine
// made.
func (s scenario) play(t *testing.T, point int, away time.Duration) (out outcome, points int) {
	t.Helper()
	dataDir := t.TempDir()
	world := &machine{Driver: mock.New(), starts: map[string]int{}}
	job := s.job()
	job.Canonicalize()

	begun := time.Now()
	var (
		dir     string
		dead    []*engine.Engine
		current atomic.Pointer[engine.Engine]
	)
	begin := func(mortal bool) (e *engine.Engine, died chan struct{}) {
		died = make(chan struct{})
		gone := &atomic.Bool{}
		e = engine.New(engine.Config{
			DataDir: dataDir,
			Drivers: map[string]drivers.Driver{"mock_driver": &link{machine: world, dead: gone, known: map[string]bool{}}},
			Hooks:   hookcatalog.New(hookcatalog.Options{}),
			Node:    &taskenv.Node{},
			Durable: true,
			OnRun:   func(d string) { dir = d },
		})
		points = 0
		engine.OnRecorder(e, func(r *store.Recorder) {
			r.HaltWhen(func() bool {
				points++
				if mortal && points == point {
					gone.Store(true)
					close(died)
				}
				return gone.Load()
			})
		})
		return e, died
	}

	e, died := begin(point > 0)
	if err := e.Submit(job); err != nil {
		t.Fatal(err)
	}
	current.Store(e)
	for after, do := range s.actions {
		defer time.AfterFunc(after, func() { do(current.Load()) }).Stop()
	}
	if s.lasts > 0 {
		defer time.AfterFunc(s.lasts, func() { current.Load().Stop() }).Stop()
	}
	for lives := 1; ; lives++ {
		select {
		case <-e.Done():
		case <-died:
		}
		select {
		case <-died: // may look like an end
			e.Leave()
			dead = append(dead, e)
			synctest.Wait() // a dead engine no longer changes files
			<-time.After(away)
			e, died = begin(point > 20 && lives < 6) // those that die young would die forever
			sub := e.Subscribe(false)
			if err := e.Recover(engine.Run{Dir: dir, Lock: lockOf(dead)}); err != nil {
				t.Fatalf("point %d: %v", point, err)
			}
			current.Store(e)
			checkNumbers(t, sub)
			if s.lasts > 0 && time.Since(begun) >= s.lasts {
				e.Stop() // the client that told the dead engine tells this one
			}
			continue
		default:
		}
		break
	}
	out = outcome{History: readHistory(t, dir), States: map[string]string{}, Starts: world.counts()}
	for _, a := range e.Allocs() {
		for name, state := range a.Tasks {
			text := fmt.Sprintf("%s %s failed %v restarts %d;", a.Status, state.State, state.Failed, state.Restarts)
			for _, e := range state.Events {
				text += " " + e.Type
			}
			key := mask(a.Name) + " " + name
			out.States[key] = strings.TrimSpace(out.States[key] + "\n" + text)
		}
	}
	for _, e := range append(dead, e) {
		<-e.Done()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if left, err := engine.Interrupted(dataDir); err != nil || len(left) > 0 {
		t.Errorf("point %d: left behind: %v, %v", point, left, err)
	}
	return out, points
}

// lockOf returns the lock of a job's name that dead engines have left, or nil
// if they have released it.
func lockOf(dead []*engine.Engine) *os.File {
	for _, e := range dead {
		if runs := e.Runs(); len(runs) > 0 {
			return runs[0].Lock
		}
	}
	return nil
}

// checkNumbers checks that the numbers of events only increase.
func checkNumbers(t *testing.T, sub *event.Subscription) {
	t.Helper()
	var last uint64
	for sub.Ready() {
		e, ok := sub.Next(context.Background())
		if !ok {
			break
		}
		if e.Seq <= last {
			t.Errorf("event %d comes after %d", e.Seq, last)
		}
		last = e.Seq
	}
}

var masked = regexp.MustCompile(`(restarting in )[0-9a-zµ.]+|(dispatch-)[-0-9a-f]+|(periodic-)[0-9]+`)

func mask(s string) string { return masked.ReplaceAllString(s, "$1$2$3*") }

// readHistory returns the lines of the history, without text that differs from
// run to run.
func readHistory(t *testing.T, dir string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "events.json"))
	if err != nil {
		t.Fatal(err)
	}
	lines, ids := map[string][]string{}, map[string]string{}
	for line := range strings.Lines(string(text)) {
		var e struct {
			Type, Alloc, Task, Event, Message, Status, Description, State string
			AllocID                                                       string `json:"alloc_id"`
			Failed, Healthy                                               bool
			Restarts                                                      int
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("line of the history: %v: %s", err, line)
		}
		if e.AllocID != "" && ids[e.AllocID] == "" {
			n := 1
			for _, other := range ids {
				if strings.HasPrefix(other, mask(e.Alloc)+" #") {
					n++
				}
			}
			ids[e.AllocID] = fmt.Sprintf("%s #%d", mask(e.Alloc), n)
		}
		key := strings.TrimSpace(ids[e.AllocID] + " " + e.Task)
		said := fmt.Sprintf("%s %s %s %s %s failed %v healthy %v restarts %d",
			e.Type, e.Event, e.Status+e.Description, e.State, e.Message, e.Failed, e.Healthy, e.Restarts)
		lines[key] = append(lines[key], mask(said))
	}
	return lines
}
