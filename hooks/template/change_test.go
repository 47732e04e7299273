package template

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/service"
	"taskrun/hooks"
)

func key(value string) string { return `consul_key "k" { value = "` + value + `" }` }

func script(s api.ChangeScript) func(*api.Template) {
	return func(t *api.Template) {
		t.ChangeMode, t.ChangeScript = new("script"), &s
	}
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// begin starts the task and calls Poststart.
func (s *setting) begin(exec execFunc) {
	s.t.Helper()
	if err := s.start(Config{}); err != nil {
		s.t.Fatal(err)
	}
	s.poststart(exec)
}

// poststart tells the hook that the task has started.
func (s *setting) poststart(exec execFunc) {
	s.t.Helper()
	s.control.beginNow()
	if err := s.hook.(hooks.TaskPoststart).Poststart(s.ctx, &hooks.PoststartRequest{Exec: exec}); err != nil {
		s.t.Error(err)
	}
}

// TestWaitForMissingValues gives a template its values one after another.
func TestWaitForMissingValues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, `consul_key "a" { value = "A" }`,
			file(`{{ key "a" }}{{ key "k" }}{{ with nomadVar "v" }}{{ .x }}{{ end }}{{ with secret "kv/data/s" }}{{ .Data.data.y }}{{ end }}{{ key "z" }}`),
			file("ready", to("local/ready")))
		done := make(chan error)
		go func() { done <- s.start(Config{}) }()
		pass(2 * time.Second)
		s.expect("too early to tell")
		if s.read("t/local/ready") != "ready" {
			t.Error("the template that needs nothing was not rendered")
		}
		pass(2 * time.Second)
		s.expect("missing", "3s Template: Missing: kv.block(k), kv.block(z), nomad.var.block(v@default.global), and 1 more")
		s.define(`consul_key "a" { value = "A" }` + "\n" + `nomad_variable "v" { x = "X" }`)
		synctest.Wait()
		s.expect("less missing", "4s Template: Missing: kv.block(k), kv.block(z), vault.read(kv/data/s)")
		s.define(`consul_key "a" { value = "A" }
			consul_key "k" { value = "K" }
			consul_key "z" { value = "Z" }
			nomad_variable "v" { x = "X" }
			vault_secret "kv/data/s" { y = "Y" }`)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		s.stop()
		s.expect("nothing missing")
		if got := s.read("t/local/out"); got != "AKXYZ" {
			t.Errorf("got %q", got)
		}
	})
}

// A value that comes before anything is said to be missing ends the wait at once.
func TestValueComesSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, "", file(`{{ key "k" }}`))
		begin, done := time.Now(), make(chan error)
		go func() { done <- s.start(Config{}) }()
		pass(time.Second)
		s.define(key("K"))
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		s.stop()
		if took := time.Since(begin); took != time.Second {
			t.Errorf("the template was rendered after %v", took)
		}
		s.expect("nothing is missing")
	})
}

// TestWaitIsLimited lets a template fail, with a remedy.
func TestWaitIsLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, "", file(`{{ key "k" }}{{ with nomadVar "v@ns" }}{{ .x }}{{ end }}`))
		if err := s.start(Config{}); err != nil {
			t.Fatal(err)
		}
		s.stop()
		s.expect("events", "3s Template: Missing: kv.block(k), nomad.var.block(v@ns.global)",
			`10s Killing: Template failed: local/out: kv.block(k), nomad.var.block(v@ns.global) are not set: no stub defines them; `+
				`add to taskrun.hcl: consul_key "k" { value = "…" }, nomad_variable "v@ns" { NAME = "…" }`)
	})
}

// A key whose name contains the allocation's ID needs no stub: the next run
// needs another one.
func TestNoHintForVaryingNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{{ key (env "NOMAD_ALLOC_ID") }}`:              "10s Killing: Template failed: local/out: kv.block(01234567-0123-0123-0123-0123456789ab) is not set: no stub defines it",
		`{{ key "k" }}{{ key (env "NOMAD_ALLOC_ID") }}`: `; add to taskrun.hcl: consul_key "k" { value = "…" }`,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSetting(t, "", file(text))
			if err := s.start(Config{}); err != nil {
				t.Fatal(err)
			}
			s.stop()
			if got := s.take(); len(got) != 2 || !strings.HasSuffix(got[1], want) {
				t.Errorf("%s: %q", text, got)
			}
		})
	}
}

// TestKilledTaskDoesNotWait ends the wait for missing values.
func TestKilledTaskDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, "", file(`{{ key "k" }}`))
		time.AfterFunc(time.Second, s.kill)
		if err := s.start(Config{}); err != nil {
			t.Fatal(err)
		}
		s.stop()
		s.expect("events")
		if got := time.Since(s.control.begin); got != time.Second {
			t.Errorf("it took %v", got)
		}
	})
}

// TestChangeModes changes the input of a template and checks the orders to the
// task, and their time: five seconds after the change.
func TestChangeModes(t *testing.T) {
	t.Parallel()
	const ok = "Task hook message: Template successfully ran script /bin/reload with arguments: [a b]. Exit code: 0"
	reload := api.ChangeScript{Command: new("/bin/reload"), Args: []string{"a", "b"}}
	for _, c := range []struct {
		name    string
		change  func(*api.Template)
		stopped bool  // the task is not running
		send    error // error of a signal
		exec    execFunc
		want    []string
	}{
		{name: "noop", change: mode("noop")},
		{name: "restart", change: mode("restart"), want: []string{"5s Restart Signaled: Template with change_mode restart re-rendered"}},
		{name: "signal", change: mode("signal"), want: []string{"5s Signaling: Template re-rendered", "5s SIGHUP hangup"}},
		{
			name: "signal to nobody", change: mode("signal"), stopped: true,
			want: []string{"5s Task hook message: Template skipped signal hangup: task is not running"},
		},
		{
			name: "signal that fails", change: mode("signal"), send: errors.New("no"),
			want: []string{"5s Killing: Template failed to send signals [hangup]: no"},
		},
		{name: "script", change: script(reload), exec: exits(0, 0, nil), want: []string{"5s " + ok}},
		{
			name: "script with a code", change: script(reload), exec: exits(3, 0, nil),
			want: []string{"5s Task hook failed: Template ran script /bin/reload with arguments [a b] on change but it exited with code: 3"},
		},
		{
			name: "script that cannot run", change: script(reload), exec: exits(0, 0, errors.New("no")),
			want: []string{"5s Task hook failed: Template failed to run script /bin/reload with arguments [a b] on change: no. Exit code: 0"},
		},
		{
			name: "script without a way to run", change: script(reload),
			want: []string{"5s Task hook failed: Template failed to run script /bin/reload with arguments [a b] on change: the driver cannot run commands in a task. Exit code: 0"},
		},
		{
			name: "script that takes too long", change: script(reload), exec: exits(0, time.Hour, nil),
			want: []string{"10s Task hook failed: Template ran script /bin/reload with arguments [a b] on change but it exited with code: -1"},
		},
		{
			name: "script that must not fail", exec: exits(1, 0, nil),
			change: script(api.ChangeScript{Command: new("/bin/reload"), FailOnError: new(true)}),
			want: []string{
				"5s Task hook failed: Template ran script /bin/reload with arguments [] on change but it exited with code: 1",
				"5s Killing: Template script failed, task is being killed",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSetting(t, key("1"), file(`{{ key "k" }}`, c.change))
				s.running, s.sendErr = !c.stopped, c.send
				s.begin(c.exec)
				s.expect("the first rendering")
				pass(time.Minute)
				s.expect("quiet")
				s.control.begin = time.Now()
				s.define(key("2"))
				pass(4 * time.Second)
				s.expect("too early")
				if got := s.read("t/local/out"); got != "1" {
					t.Errorf("rendered too early: %q", got)
				}
				pass(time.Minute)
				s.expect("the change", c.want...)
				if got := s.read("t/local/out"); got != "2" {
					t.Errorf("got %q", got)
				}
				s.stop()
			})
		})
	}
}

// exits returns a function that runs a command with an exit code.
func exits(code int, after time.Duration, err error) execFunc {
	return func(ctx context.Context, _ []string) (*drivers.ExecTaskResult, error) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(after):
		}
		return &drivers.ExecTaskResult{ExitResult: drivers.ExitResult{ExitCode: code}}, err
	}
}

// TestRelevantChanges changes the stubs frequently: one restart follows, no
// later than wait.max, and none if the text of the template stays the same.
func TestRelevantChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, key("0"), file(`{{ key "k" }} {{ timestamp "unix" }}`, func(t *api.Template) {
			t.Wait = &api.WaitConfig{Min: new(3 * time.Second), Max: new(7 * time.Second)}
		}))
		s.begin(nil)
		for _, v := range []string{"1", "2", "3", "4", "5", "6"} {
			s.define(key(v))
			pass(2 * time.Second)
		}
		pass(time.Minute)
		s.expect("two renderings",
			"7s Restart Signaled: Template with change_mode restart re-rendered",
			"13s Restart Signaled: Template with change_mode restart re-rendered")
		s.define(key("6") + "\n" + `consul_key "another" { value = 1 }`)
		pass(time.Minute)
		s.expect("what it does not read has changed")
		s.define("")
		pass(time.Minute)
		s.expect("what it reads is gone for now")
		s.define(key("6"))
		pass(time.Second)
		s.define(key("6"))
		s.stop()
	})
}

// TestOneActionForAll renders several templates together: a restart has
// precedence; without one, each signal is sent once and the scripts run.
func TestOneActionForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, key("0"),
			file(`{{ key "k" }}`, mode("signal"), to("local/a")),
			file(`b{{ key "k" }}`, mode("signal"), to("local/b")),
			file(`c{{ key "k" }}`, script(api.ChangeScript{Command: new("x")}), to("local/c")),
			file(`d{{ keyOrDefault "r" "" }}`, mode("restart"), to("local/d")),
			file(`e{{ key "k" }}`, mode("restart"), to("local/e"), func(t *api.Template) { t.Once = new(true) }))
		s.begin(exits(0, 0, nil))
		s.define(key("1"))
		pass(time.Minute)
		s.expect("no restart", "5s Signaling: Template re-rendered", "5s SIGHUP hangup",
			"5s Task hook message: Template successfully ran script x with arguments: []. Exit code: 0")
		s.control.begin = time.Now()
		s.define(key("2") + "\n" + `consul_key "r" { value = 1 }`)
		pass(time.Minute)
		s.expect("a restart", "5s Restart Signaled: Template with change_mode restart re-rendered")
		s.stop()
		var got []string
		for _, f := range []string{"a", "b", "c", "d", "e"} {
			got = append(got, s.read("t/local/"+f))
		}
		if want := "2 b2 c2 d1 e0"; strings.Join(got, " ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
	})
}

// TestSplay delays a restart, but not longer than splay.
func TestSplay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, key("0"), file(`{{ key "k" }}`, func(t *api.Template) { t.Splay = new(time.Hour) }))
		s.begin(nil)
		s.define(key("1"))
		pass(6 * time.Second)
		s.expect("it waits") // except in one of 3600 runs
		pass(time.Hour)
		if got := s.take(); len(got) != 1 {
			t.Errorf("after splay: %q", got)
		}
		s.define(key("2"))
		pass(6 * time.Second)
		s.stop() // while it waits
	})
}

// TestVariablesOfAChangedTemplate reads env templates again, and follows a file.
func TestVariablesOfAChangedTemplate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, key("1"), file(`A={{ key "k" }}`, func(t *api.Template) { t.Envvars = new(true) }),
			file("", to("local/from-file"), mode("noop")))
		s.write("t/local/in", "x")
		s.task.Task.Templates[1].EmbeddedTmpl = new(`{{ file "` + s.task.AllocDir + `/t/local/in" }}`)
		s.begin(nil)
		s.define(key("2"))
		s.write("t/local/in", "longer")
		pass(time.Minute)
		if diff := cmp.Diff(map[string]string{"A": "2"}, s.control.env); diff != "" {
			t.Error(diff)
		}
		s.expect("one restart", "5s Restart Signaled: Template with change_mode restart re-rendered")
		if got := s.read("t/local/from-file"); got != "longer" {
			t.Errorf("got %q", got)
		}
		s.define(key("'"))
		s.write("t/local/in", "shorter")
		pass(time.Minute)
		s.expect("nothing but a failure", "1m5s Killing: Template failed to read environment variables: cannot understand local/out: error on line 1: unmatched '")
		s.stop()
	})
}

// A template follows a file, although nothing else changes.
func TestFileOfATemplateChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, "", file("", mode("noop")))
		s.write("t/local/in", "x")
		s.task.Task.Templates[0].EmbeddedTmpl = new(`{{ file "` + s.task.AllocDir + `/t/local/in" }}`)
		s.begin(nil)
		pass(time.Minute) // has looked at it
		s.write("t/local/in", "longer")
		pass(time.Minute)
		if got := s.read("t/local/out"); got != "longer" {
			t.Errorf("got %q", got)
		}
		s.stop()
	})
}

// TestRestarts starts a task again: its templates are not rendered again,
// unless its restart block says so.
func TestRestarts(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newSetting(t, key("1"), file(`{{ timestamp "unix" }}{{ keyOrDefault "k" "" }}`))
			s.task.Task.RestartPolicy.RenderTemplates = &again
			s.begin(nil)
			before := s.read("t/local/out")
			pass(time.Minute)
			s.begin(nil)
			if changed := s.read("t/local/out") != before; changed != again {
				t.Errorf("render_templates = %v: changed %v", again, changed)
			}
			s.stop()
			s.stop()
		})
	}
}

// TestLocalServices follows the local catalog.
func TestLocalServices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here := &catalog{changed: make(chan struct{})}
		s := newSetting(t, "", file(`{{ range nomadService "api" }}{{ .Port }} {{ .AllocID }};{{ end }}`))
		if err := s.start(Config{Services: here}); err != nil {
			t.Fatal(err)
		}
		here.set(Instance{Instance: service.Instance{
			ServiceRegistration: api.ServiceRegistration{ID: "i", ServiceName: "api", Port: 80, AllocID: "a"}, Provider: "nomad",
		}})
		pass(time.Minute)
		s.expect("it came", "5s Restart Signaled: Template with change_mode restart re-rendered")
		if got := s.read("t/local/out"); got != "80 a;" {
			t.Errorf("got %q", got)
		}
		s.stop()
	})
}

// TestServicesOfOneMoment: in a run with a seed a template has the services that are
// registered at the moment of its first rendering, and need not be rendered again.
func TestServicesOfOneMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here := &catalog{changed: make(chan struct{})}
		s := newSetting(t, "", file(`{{ range nomadService "api" }}{{ .Port }};{{ end }}`))
		s.task.Chance = chance.Seeded(1)
		started := make(chan error)
		go func() { started <- s.start(Config{Services: here}) }()
		synctest.Wait()
		here.set(Instance{Instance: service.Instance{
			ServiceRegistration: api.ServiceRegistration{ID: "i", ServiceName: "api", Port: 80, AllocID: "a"}, Provider: "nomad",
		}})
		if err := <-started; err != nil {
			t.Fatal(err)
		}
		if got := s.read("t/local/out"); got != "80;" {
			t.Errorf("got %q", got)
		}
		pass(time.Minute)
		s.expect("it came before")
		s.stop()
	})
}

type catalog struct {
	mu      sync.Mutex
	list    []Instance
	changed chan struct{}
}

func (c *catalog) Instances() []Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list
}

func (c *catalog) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

func (c *catalog) set(list ...Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = list
	close(c.changed)
	c.changed = make(chan struct{})
}

// A script that was killed has the code that Nomad reports for it.
func TestCodesOfScripts(t *testing.T) {
	t.Parallel()
	lost := errors.New("the driver is lost")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx    context.Context
		result drivers.ExitResult
		err    error
		code   int
		want   error
	}{
		"success":                  {t.Context(), drivers.ExitResult{}, nil, 0, nil},
		"a code":                   {t.Context(), drivers.ExitResult{ExitCode: 3}, nil, 3, nil},
		"killed":                   {t.Context(), drivers.ExitResult{Signal: 9}, nil, -1, nil},
		"killed, with a code":      {t.Context(), drivers.ExitResult{ExitCode: 137, Signal: 9}, nil, 137, nil},
		"an unknown end":           {t.Context(), drivers.ExitResult{ExitCode: 4, Err: lost}, nil, 4, lost},
		"it did not run":           {t.Context(), drivers.ExitResult{}, lost, 0, lost},
		"the task ended meanwhile": {ended, drivers.ExitResult{}, lost, -1, nil},
	} {
		exec := func(context.Context, []string) (*drivers.ExecTaskResult, error) {
			return &drivers.ExecTaskResult{ExitResult: tt.result}, tt.err
		}
		code, err := runScript(tt.ctx, exec, &api.ChangeScript{Command: new("x"), Timeout: new(time.Minute)})
		if code != tt.code || !errors.Is(err, tt.want) {
			t.Errorf("%s: %d, %v", name, code, err)
		}
	}
}

// TestChangeBeforeTheStart changes a template while its task is starting: the
// script runs once the task has started.
func TestChangeBeforeTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, key("1"),
			file(`{{ key "k" }}`, script(api.ChangeScript{Command: new("first"), RunOnFirstRender: new(true)})),
			file(`{{ key "k" }}`, to("local/x"), script(api.ChangeScript{Command: new("later"), FailOnError: new(true)})))
		if err := s.start(Config{}); err != nil {
			t.Fatal(err)
		}
		s.define(key("2"))
		pass(time.Minute)
		s.expect("before the start")
		s.poststart(exits(0, 0, nil))
		got := s.take()
		slices.Sort(got) // they run concurrently
		want := []string{
			"0s Task hook message: Template successfully ran script first with arguments: []. Exit code: 0",
			"0s Task hook message: Template successfully ran script later with arguments: []. Exit code: 0",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		s.stop()
	})
}

// TestFirstRendering runs the change scripts of the first rendering.
func TestFirstRendering(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, key("1"),
			file(`{{ key "k" }}`, script(api.ChangeScript{Command: new("first"), RunOnFirstRender: new(true)})),
			file(`x`, to("local/x"), script(api.ChangeScript{Command: new("later")})))
		s.begin(exits(0, 0, nil))
		s.expect("scripts", "0s Task hook message: Template successfully ran script first with arguments: []. Exit code: 0")
		s.stop()
	})
}
