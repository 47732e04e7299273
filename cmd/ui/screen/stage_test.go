package screen

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

var update = flag.Bool("update", false, "write the golden files")

// begin is the start of every run in these tests.
var begin = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// stage is a model with a run of which tests tell the events.
type stage struct {
	*Model
	t   *testing.T
	now time.Time
}

func newStage(t *testing.T, width, height int, jobs ...*api.Job) *stage {
	t.Helper()
	m := New(Options{Jobs: jobs, Title: *jobs[0].ID})
	m.Resize(width, height)
	return &stage{Model: m, t: t, now: begin}
}

// job returns a job whose groups are given as GROUP:TASK,TASK….
func job(id string, groups ...string) *api.Job {
	kind := api.JobTypeService
	j := &api.Job{ID: &id, Name: &id, Type: &kind}
	for _, g := range groups {
		name, tasks, _ := strings.Cut(g, ":")
		one := 1
		group := &api.TaskGroup{Name: &name, Count: &one}
		for _, t := range strings.Split(tasks, ",") {
			group.Tasks = append(group.Tasks, &api.Task{Name: t})
		}
		j.TaskGroups = append(j.TaskGroups, group)
	}
	return j
}

// alloc returns an allocation of a group.
func alloc(job, group string, index int) *event.Alloc {
	return &event.Alloc{Job: job, Group: group, Name: fmt.Sprintf("%s.%s[%d]", job, group, index), ID: fmt.Sprintf("%s-%s-%d", job, group, index)}
}

func (s *stage) tell(a *event.Alloc, task string, bodies ...event.Body) {
	for _, b := range bodies {
		s.now = s.now.Add(time.Second)
		s.Apply(event.Event{Time: s.now, Alloc: a, Task: task, Body: b})
	}
}

// runs lets the tasks of an allocation run.
func (s *stage) runs(a *event.Alloc, tasks ...string) {
	s.tell(a, "", event.AllocStatus{Status: api.AllocClientStatusRunning, Retry: -1})
	for _, t := range tasks {
		s.tell(a, t, event.TaskEvent{TaskEvent: &api.TaskEvent{Type: api.TaskStarted}}, event.TaskState{State: "running"})
	}
}

func (s *stage) write(a *event.Alloc, task string, stream event.Stream, text string) {
	s.now = s.now.Add(time.Millisecond)
	s.Write(targetOf(a, task), stream, s.now, []byte(text))
}

// keys presses keys: names of keys and characters, separated by blanks.
func (s *stage) keys(keys string) {
	for k := range strings.FieldsSeq(keys) {
		s.Key(Key(k))
	}
}

// picture returns the screen as text. Each line has to fit.
func (s *stage) picture() string {
	s.t.Helper()
	lines := s.Lines(s.now)
	if len(lines) != s.height {
		s.t.Errorf("%d lines on a screen of %d", len(lines), s.height)
	}
	var b strings.Builder
	for _, l := range lines {
		if w := l.Width(); w != s.width {
			s.t.Errorf("%d columns on a screen of %d: %q", w, s.width, l.String())
		}
		fmt.Fprintln(&b, strings.TrimRight(l.String(), " "))
	}
	return b.String()
}

// golden compares the screen with a file of testdata.
func (s *stage) golden(name string) {
	s.t.Helper()
	path := filepath.Join("testdata", name+".txt")
	got := s.picture()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// sees fails unless the screen has a text.
func (s *stage) sees(text string) {
	s.t.Helper()
	if got := s.picture(); !strings.Contains(got, text) {
		s.t.Errorf("%q is not to be seen:\n%s", text, got)
	}
}
