package play_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"
	"go.uber.org/goleak"

	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/play"
	"taskrun/drivers/catalog"
	"taskrun/engine/leaf/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is what a task block says.
func script(pairs ...string) cty.Value {
	values := map[string]cty.Value{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = cty.StringVal(pairs[i+1])
		if pairs[i] == "exit_code" {
			values[pairs[i]] = cty.MustParseNumberVal(pairs[i+1])
		}
	}
	return cty.ObjectVal(values)
}

// stage is a folder with job files.
type stage struct {
	*testing.T
	player *play.Player
	dir    string
}

func newStage(t *testing.T) *stage {
	return &stage{t, play.New(play.Options{Drivers: catalog.New, Dir: t.TempDir()}), t.TempDir()}
}

// file writes a job file and returns its path.
func (s *stage) file(name, text string) string {
	s.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return path
}

func (s *stage) prepare(job string, run *jobtest.Run) *play.Prepared {
	s.Helper()
	if run.Mode == "" {
		run.Mode = jobtest.Virtual
	}
	prepared, diagnostics, err := s.player.Prepare(context.Background(), &jobtest.File{Job: job}, run)
	if err != nil || prepared == nil {
		s.Fatal(diagnostics, err)
	}
	return prepared
}

// play carries out a run in a bubble.
func (s *stage) play(job string, run *jobtest.Run) (o *jobtest.Outcome, err error) {
	s.Helper()
	prepared := s.prepare(job, run)
	synctest.Test(s.T, func(t *testing.T) {
		o, err = s.player.Play(t.Context(), prepared, 1)
	})
	if o != nil {
		s.Cleanup(func() {
			if err := o.Close(); err != nil {
				s.Error(err)
			}
		})
	}
	return o, err
}

// story returns the task events of a run, with their times.
func story(o *jobtest.Outcome, kinds ...string) string {
	var b strings.Builder
	for _, e := range o.Events {
		body, ok := e.Body.(event.TaskEvent)
		if !ok || len(kinds) > 0 && !strings.Contains(strings.Join(kinds, ","), body.Type) {
			continue
		}
		fmt.Fprintf(&b, "%v %s/%s %s\n", e.Time.Sub(o.Began), e.Alloc.Name, e.Task, body.Type)
	}
	return b.String()
}

const serviceJob = `job "web" {
  group "app" {
    restart {
      attempts = 2
      interval = "10m"
      delay    = "15s"
      mode     = "fail"
    }
    task "server" {
      driver = "raw_exec"
      config { command = "/no/such/program" }
    }
  }
}`

func TestACrashingServer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o, err := s.play(s.file("web.nomad.hcl", serviceJob), &jobtest.Run{
		Tasks: []*jobtest.Task{{Target: "app/server", Script: script("run_for", "20s", "exit_code", "1")}},
		Until: jobtest.Until{After: 2 * time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(story(o, api.TaskStarted, api.TaskRestarting, api.TaskTerminated), o.Status, o.ExitCode, o.Cause, o.Elapsed)
}
