package template

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
	"taskrun/hooks"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stubs are those that a test defines.
const allocID = "01234567-0123-0123-0123-0123456789ab"

type stubs struct {
	t       *testing.T
	mu      sync.Mutex
	set     *stub.Set
	changed chan struct{}
}

func (s *stubs) Set() *stub.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set
}

func (s *stubs) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// define replaces the stubs by those in a file.
func (s *stubs) define(text string) {
	s.t.Helper()
	set, diagnostics := stub.Parse("taskrun.hcl", []byte(text))
	if len(diagnostics) > 0 {
		s.t.Fatal(diagnostics)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set = set
	close(s.changed)
	s.changed = make(chan struct{})
}

// control records a hook's orders to its task.
type control struct {
	mu      sync.Mutex
	begin   time.Time
	lines   []string
	env     map[string]string
	running bool
	sendErr error
	kill    context.CancelFunc
}

// beginNow sets the start of recorded times.
func (c *control) beginNow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin = time.Now()
}

func (c *control) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, fmt.Sprintf("%v ", time.Since(c.begin).Truncate(time.Second))+fmt.Sprintf(format, args...))
}

func (c *control) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.lines
	c.lines = nil
	return lines
}

func (c *control) emit(e *api.TaskEvent) { c.note("%s: %s", e.Type, e.DisplayMessage) }

func (c *control) Restart(_ context.Context, why *api.TaskEvent) error {
	c.emit(why)
	return nil
}

func (c *control) Signal(why *api.TaskEvent, signal string) error {
	if !c.running {
		return hooks.ErrNotRunning
	}
	if c.sendErr == nil {
		c.emit(why)
		c.note("%s %s", signal, why.Details["task_signal"])
	}
	return c.sendErr
}

func (c *control) Fail(why *api.TaskEvent) {
	if !event.Fails(why) {
		c.note("an event that does not fail the task: %v", why)
	}
	c.emit(why)
	c.kill()
}

func (c *control) SetTemplateEnv(env map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.env = env
}

// setting is a task with templates.
type setting struct {
	*control
	*stubs
	t    *testing.T
	hook hooks.TaskHook
	task hooks.Task
	env  *taskenv.Env
	ctx  context.Context
	// recovered says that the next start is that of a task that may already be
	// running.
	recovered bool
}

// newSetting creates a task with its directories; defined is the text of a
// stubs file.
func newSetting(t *testing.T, defined string, templates ...*api.Template) *setting {
	t.Helper()
	s := &setting{
		t: t, control: &control{begin: time.Now(), running: true},
		stubs: &stubs{t: t, changed: make(chan struct{})},
	}
	s.define(defined)
	s.ctx, s.kill = context.WithCancel(t.Context())
	g := api.NewTaskGroup("g", 1)
	task := api.NewTask("t", "mock_driver")
	task.Env = map[string]string{"COLOR": "blue"}
	task.Templates = templates
	g.Tasks = []*api.Task{task, api.NewTask("other", "mock_driver")}
	job := &api.Job{ID: new("job"), TaskGroups: []*api.TaskGroup{g}}
	job.Canonicalize()
	dir := leaktest.TempDir(t)
	alloc := allocdir.At(dir)
	t.Cleanup(func() { _ = alloc.Close() })
	if err := errors.Join(alloc.Build(), alloc.BuildTask("t", nil), alloc.BuildTask("other", nil)); err != nil {
		t.Fatal(err)
	}
	s.task = hooks.Task{Alloc: &event.Alloc{ID: allocID}, Job: job, Group: g, Task: task, AllocDir: dir, Dir: alloc, Emit: s.emit, Control: s.control}
	node := &taskenv.Node{
		ID: "node-id", Name: "here", Datacenter: "dc1", Attributes: map[string]string{"kernel.name": "linux"},
	}
	s.env = taskenv.NewBuilder(node, taskenv.AllocInfo{ID: allocID, Name: "job.g[0]"}, job, g, task).
		SetClientDir(dir).Build()
	return s
}

// start calls the hook before a start of the task.
func (s *setting) start(cfg Config) error {
	if s.hook == nil {
		cfg.Stubs = s.stubs
		s.hook = New(cfg)(s.task)
	}
	return s.hook.(hooks.TaskPrestart).Prestart(s.ctx, &hooks.PrestartRequest{Task: s.task.Task, Env: s.env, Recovered: s.recovered}, &hooks.PrestartResponse{})
}

// recover lets the next engine recover the task, with new stubs.
func (s *setting) recover(defined string) {
	s.t.Helper()
	s.hook.(hooks.TaskShutdown).Shutdown()
	s.define(defined)
	s.hook, s.recovered = nil, true
}

func (s *setting) stop() {
	s.t.Helper()
	if err := s.hook.(hooks.TaskStop).Stop(context.Background()); err != nil {
		s.t.Error(err)
	}
}

// read returns a file of the allocation.
func (s *setting) read(path string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.task.AllocDir, path))
	if err != nil {
		s.t.Error(err)
	}
	return string(text)
}

func (s *setting) write(path, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.task.AllocDir, path), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *setting) expect(when string, want ...string) {
	s.t.Helper()
	if got := s.take(); !slices.Equal(got, want) {
		s.t.Errorf("%s:\ngot  %q\nwant %q", when, got, want)
	}
}

// file returns a template with a text.
func file(data string, change ...func(*api.Template)) *api.Template {
	t := &api.Template{EmbeddedTmpl: &data, DestPath: new("local/out"), Splay: new(time.Duration(0))}
	for _, f := range change {
		f(t)
	}
	return t
}

func mode(mode string) func(*api.Template) {
	return func(t *api.Template) { t.ChangeMode = &mode }
}

func to(dest string) func(*api.Template) {
	return func(t *api.Template) { t.DestPath = &dest }
}
