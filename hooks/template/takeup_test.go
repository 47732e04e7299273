package template

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"
)

func once(t *api.Template) { t.Once = new(true) }

// TestChangesBetweenLooks lets an engine recover a task whose templates have
// other answers than when it started.
func TestChangesBetweenLooks(t *testing.T) {
	t.Parallel()
	const restarts = "5s Restart Signaled: Template with change_mode restart re-rendered"
	for _, c := range []struct {
		name   string
		change func(*api.Template)
		stubs  string
		want   []string
		out    string
	}{
		{"restart", mode("restart"), key("new"), []string{restarts}, "new"},
		{"signal", mode("signal"), key("new"), []string{"5s Signaling: Template re-rendered", "5s SIGHUP hangup"}, "new"},
		{"noop", mode("noop"), key("new"), nil, "new"},
		{"nothing new", mode("restart"), key("old"), nil, "old"},
		{"once", once, key("new"), nil, "old"},
		{"gone", mode("restart"), "", nil, "old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSetting(t, key("old"), file(`{{ key "k" }}`, c.change))
				s.begin(nil)
				s.recover(c.stubs)
				s.begin(nil)
				pass(time.Minute)
				s.expect("taken up", c.want...)
				if got := s.read("t/local/out"); got != c.out {
					t.Errorf("it is %q", got)
				}
				s.stop()
			})
		})
	}
}

// TestRestartedTaskIsFollowed recovers a template whose value is missing.
func TestRestartedTaskIsFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, key("old"), file(`{{ key "k" }}`, mode("restart")))
		s.begin(nil)
		s.recover("")
		s.begin(nil)
		pass(time.Minute)
		s.define(key("new"))
		pass(time.Minute)
		s.expect("defined again", "1m5s Restart Signaled: Template with change_mode restart re-rendered")
		s.stop()
	})
}

// TestLostTaskStartsWithNewFiles lets an engine find that the task is gone:
// there is no task to notify of a change.
func TestLostTaskStartsWithNewFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, key("old"), file(`{{ key "k" }}`, mode("restart")))
		s.begin(nil)
		s.recover(key("new"))
		if err := s.start(Config{}); err != nil {
			t.Fatal(err)
		}
		s.recovered = false
		s.begin(nil)
		if got := s.read("t/local/out"); got != "new" {
			t.Errorf("it is %q", got)
		}
		pass(time.Minute)
		s.expect("started again")
		s.stop()
	})
}

// TestTaskThatNeverStarted has nothing to recover.
func TestTaskThatNeverStarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, key("new"), file(`{{ key "k" }}`, mode("restart")))
		s.recovered = true
		s.begin(nil)
		if got := s.read("t/local/out"); got != "new" {
			t.Errorf("it is %q", got)
		}
		pass(time.Minute)
		s.expect("rendered")
		s.stop()
	})
}
