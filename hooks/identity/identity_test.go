package identity

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/workload"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

func TestMain(m *testing.M) {
	// The first token fills a cache of go-jose, which two synctest bubbles must
	// not do at the same time: it waits with a sync.WaitGroup that belongs to
	// one of them.
	if _, err := workload.NewKeyring().Sign(workload.Claims{}); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// control records the hook's orders to its task.
type control struct {
	hooks.Control
	begin   time.Time
	mu      sync.Mutex
	lines   []string
	running atomic.Bool
}

func (c *control) note(e *api.TaskEvent, more string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, fmt.Sprintf("%s: %s%s", e.Type, e.DisplayMessage, more))
}

// check compares the orders since the last check.
func (c *control) check(t *testing.T, want map[string]bool) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	got := map[string]bool{}
	for _, line := range c.lines {
		got[line] = true
	}
	c.lines = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after %v: %s", time.Since(c.begin), diff)
	}
}

func (c *control) Restart(_ context.Context, e *api.TaskEvent) error {
	c.note(e, "")
	return nil
}

func (c *control) Signal(e *api.TaskEvent, signal string) error {
	if !c.running.Load() {
		return hooks.ErrNotRunning
	}
	c.note(e, " "+signal)
	return nil
}

func newTask(t *testing.T, c hooks.Control, identities ...*api.WorkloadIdentity) hooks.Task {
	t.Helper()
	g := api.NewTaskGroup("g", 1)
	task := api.NewTask("t", "mock_driver")
	task.Identities = identities
	g.Tasks = []*api.Task{task}
	job := &api.Job{ID: new("job"), TaskGroups: []*api.TaskGroup{g}}
	job.Canonicalize()
	dir := allocdir.At(t.TempDir())
	t.Cleanup(func() { _ = dir.Close() })
	if err := errors.Join(dir.Build(), dir.BuildTask("t", nil)); err != nil {
		t.Fatal(err)
	}
	return hooks.Task{
		Alloc: &event.Alloc{ID: "alloc-id"}, Job: job, Group: g, Task: task, AllocDir: dir.Path(), Dir: dir, Control: c,
		Emit: func(e *api.TaskEvent) { t.Errorf("event %v", e) },
	}
}

// start calls the hook like before a start, with its stored state.
func start(t *testing.T, h hooks.TaskHook, state map[string]string) hooks.PrestartResponse {
	t.Helper()
	var resp hooks.PrestartResponse
	env := taskenv.NewBuilder(&taskenv.Node{Region: "here"}, taskenv.AllocInfo{}, nil, nil, nil).Build()
	if err := h.(hooks.TaskPrestart).Prestart(t.Context(), &hooks.PrestartRequest{Env: env, State: state}, &resp); err != nil {
		t.Fatal(err)
	}
	return resp
}

// keys is a keyring shared by all tests, because creating a key is slow.
var keys = workload.NewKeyring()

func newHooks() *Hooks { return New(keys) }

func read(t *testing.T, task hooks.Task, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(task.AllocDir, "t", name))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestNoHookWithoutVisibleIdentities(t *testing.T) {
	t.Parallel()
	if h := newHooks().Task(newTask(t, nil, &api.WorkloadIdentity{Name: "x"})); h != nil {
		t.Errorf("got %v", h)
	}
}

// TestRenewal lets the lifetime of tokens pass: all tokens of an allocation are
// renewed together, after half of the shortest lifetime.
func TestRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &control{begin: time.Now()}
		c.running.Store(true)
		task := newTask(t, c,
			&api.WorkloadIdentity{Name: "noop", File: true, TTL: time.Hour},
			&api.WorkloadIdentity{Name: "stays", File: true},
			&api.WorkloadIdentity{Name: "restart", Env: true, TTL: 2 * time.Minute, ChangeMode: "restart"},
			&api.WorkloadIdentity{Name: "signal", File: true, Filepath: "local/token", TTL: 2 * time.Minute, ChangeMode: "signal", ChangeSignal: "SIGHUP"})
		h := newHooks().Task(task)
		before := start(t, h, nil).IdentityTokens["restart"]
		noop, stays, signal := read(t, task, "secrets/nomad_noop.jwt"), read(t, task, "secrets/nomad_stays.jwt"), read(t, task, "local/token")
		<-time.After(67 * time.Second)
		synctest.Wait()
		if read(t, task, "secrets/nomad_noop.jwt") == noop || read(t, task, "local/token") == signal || start(t, h, nil).IdentityTokens["restart"] == before {
			t.Error("a token was not renewed")
		}
		if read(t, task, "secrets/nomad_stays.jwt") != stays {
			t.Error("a token without a ttl was renewed")
		}
		c.check(t, map[string]bool{
			"Restart Signaled: Identity[restart]: new token acquired":         true,
			"Signaling: Identity[signal]: new Identity token acquired SIGHUP": true,
		})
		c.running.Store(false)
		<-time.After(time.Minute)
		if err := h.(hooks.TaskStop).Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A task that cannot be signaled is killed, because it would continue with an old
// token.
func TestSignalThatFails(t *testing.T) {
	t.Parallel()
	for signal, want := range map[string]string{"SIGHUP": "no such process", "SIGNOPE": `"SIGNOPE"`} {
		synctest.Test(t, func(t *testing.T) {
			c := &deaf{control: control{begin: time.Now()}}
			h := newHooks().Task(newTask(t, c, &api.WorkloadIdentity{Name: "x", Env: true, TTL: time.Minute, ChangeMode: "signal", ChangeSignal: signal}))
			start(t, h, nil)
			<-time.After(time.Minute)
			if err := h.(hooks.TaskStop).Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if len(c.lines) == 0 || !strings.HasPrefix(c.lines[0], "Killing: Identity[x]: failed to send signal: ") || !strings.Contains(c.lines[0], want) {
				t.Errorf("%s: %q", signal, c.lines)
			}
		})
	}
}

// deaf is the control of a task that cannot be signaled.
type deaf struct{ control }

func (*deaf) Signal(*api.TaskEvent, string) error { return errors.New("no such process") }
func (d *deaf) Fail(e *api.TaskEvent)             { d.note(e, "") }

// Without a key there is no token, and each start of the task tries again.
func TestKeyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := New(workload.OpenKeyring(file)).Task(newTask(t, nil, &api.WorkloadIdentity{Env: true}))
	for range 2 {
		var resp hooks.PrestartResponse
		env := taskenv.NewBuilder(nil, taskenv.AllocInfo{}, nil, nil, nil).Build()
		err := h.(hooks.TaskPrestart).Prestart(t.Context(), &hooks.PrestartRequest{Env: env}, &resp)
		if err == nil || !strings.HasPrefix(err.Error(), `identity "default": cannot use the key of workload identities`) || resp.IdentityTokens != nil {
			t.Errorf("%v, tokens %v", err, resp.IdentityTokens)
		}
	}
	if err := h.(hooks.TaskStop).Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRenewalIsNeverBeforeTenSeconds uses a ttl that is shorter.
func TestRenewalIsNeverBeforeTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &control{begin: time.Now()}
		h := newHooks().Task(newTask(t, c, &api.WorkloadIdentity{Name: "short", Env: true, TTL: 6 * time.Second, ChangeMode: "restart"}))
		start(t, h, nil)
		defer h.(hooks.TaskShutdown).Shutdown()
		<-time.After(10*time.Second - time.Nanosecond)
		synctest.Wait()
		c.check(t, map[string]bool{})
		<-time.After(time.Second)
		synctest.Wait()
		c.check(t, map[string]bool{"Restart Signaled: Identity[short]: new token acquired": true})
	})
}

// TestRenewalIsThatOfTheAllocation lets a task follow the shorter ttl of
// another task in its group.
func TestRenewalIsThatOfTheAllocation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made, task := newHooks(), newTask(t, nil, &api.WorkloadIdentity{Name: "long", File: true, TTL: time.Hour})
		other := api.NewTask("other", "mock_driver")
		other.Identities = []*api.WorkloadIdentity{{Name: "unseen", TTL: 30 * time.Second}}
		task.Group.Tasks = append(task.Group.Tasks, other)
		h := made.Task(task)
		start(t, h, nil)
		token := read(t, task, "secrets/nomad_long.jwt")
		for renewal := 1; renewal <= 3; renewal++ { // each 15 s to 16.5 s after the one before
			<-time.After(17 * time.Second)
			synctest.Wait()
			now := read(t, task, "secrets/nomad_long.jwt")
			if now == token {
				t.Errorf("renewal %d: it was not renewed with those of the other task", renewal)
			}
			token = now
		}
		h.(hooks.TaskShutdown).Shutdown()
		if len(made.renewals.allocs) > 0 {
			t.Error("the renewal has not ended with its last task")
		}
	})
}

// TestRecoveredTaskKeepsItsTokens starts like a later engine.
func TestRecoveredTaskKeepsItsTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made := newHooks()
		task := newTask(t, &control{begin: time.Now()},
			&api.WorkloadIdentity{Env: true}, &api.WorkloadIdentity{Name: "old", Env: true, TTL: 15 * time.Second}, &api.WorkloadIdentity{Name: "file", File: true, TTL: time.Minute})
		first := made.Task(task)
		left := start(t, first, nil)
		first.(hooks.TaskShutdown).Shutdown()
		file := read(t, task, "secrets/nomad_file.jwt")
		<-time.After(20 * time.Second)
		next := made.Task(task)
		again := start(t, next, left.State)
		defer next.(hooks.TaskShutdown).Shutdown()
		if again.IdentityTokens[""] != left.IdentityTokens[""] || read(t, task, "secrets/nomad_file.jwt") != file {
			t.Error("a token that was still good was replaced")
		}
		if again.IdentityTokens["old"] == left.IdentityTokens["old"] {
			t.Error("a token that had expired was kept")
		}
	})
}

// TestTokenFilesHaveNomadsModes checks the modes of files for everyone who can
// reach them and, as root, for the task's user.
func TestTokenFilesHaveNomadsModes(t *testing.T) {
	t.Parallel()
	task := newTask(t, nil, &api.WorkloadIdentity{File: true}, &api.WorkloadIdentity{Name: "x", File: true, Filepath: "local/deep/tok"})
	check := func(mode os.FileMode, uid int) {
		t.Helper()
		for _, name := range []string{"secrets/nomad_token", "local/deep/tok"} {
			info, err := os.Stat(filepath.Join(task.AllocDir, "t", name))
			if err != nil {
				t.Fatal(err)
			}
			if s := info.Sys().(*syscall.Stat_t); info.Mode() != mode || int(s.Uid) != uid || int(s.Gid) != os.Getegid() {
				t.Errorf("%s is %v of %d:%d, want %v of %d:%d", name, info.Mode(), s.Uid, s.Gid, mode, uid, os.Getegid())
			}
		}
	}
	start(t, newHooks().Task(task), nil)
	check(0o644, os.Geteuid())
	task.Task.User = "taskrun-no-such-user" // the driver reports it
	start(t, newHooks().Task(task), nil)
	check(0o644, os.Geteuid())
	nobody, err := user.Lookup("nobody")
	if os.Geteuid() != 0 || err != nil {
		t.Skip("the files of a user: that takes root and the user nobody")
	}
	uid, err := strconv.Atoi(nobody.Uid)
	if err != nil {
		t.Fatal(err)
	}
	task.Task.User = "nobody"
	start(t, newHooks().Task(task), nil)
	check(0o600, uid)
	task.Driver.FSIsolation = drivers.FSIsolationImage // with only the task's own users
	start(t, newHooks().Task(task), nil)
	check(0o644, os.Geteuid())
}
