package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

// The error of an unusable task has its state.
func TestNotRunning(t *testing.T) {
	t.Parallel()
	alloc := &api.AllocationListStub{ID: "0123456789"}
	for want, task := range map[string]*Task{
		"allocation 01234567 has not started yet":             {Alloc: alloc, State: &api.TaskState{}},
		`task "web" has not started yet`:                      {Alloc: alloc, Name: "web", State: &api.TaskState{State: "pending"}},
		`task "web" is not running: it waits for its restart`: {Alloc: alloc, Name: "web", State: &api.TaskState{State: "pending", StartedAt: time.Now()}},
		`task "web" is dead`:                                  {Alloc: alloc, Name: "web", State: &api.TaskState{State: "dead", StartedAt: time.Now()}},
	} {
		err := NotRunning("web", []*Task{task}, map[*Task]string{task: "web"})
		if got := err.Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for n, want := range map[int]string{2: `"web" matches 2 tasks; neither is running`, 3: `"web" matches 3 tasks; none is running`} {
		if got := NotRunning("web", make([]*Task, n), nil).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// How a task ended depends on what is known.
func TestHowItEnded(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	code := []*api.TaskEvent{{Type: api.TaskTerminated, Details: map[string]string{"exit_code": "3"}}}
	for want, state := range map[string]api.TaskState{
		"it ended with exit code 3 at 03:04:05 and failed": {Events: code, StartedAt: at, FinishedAt: at, Failed: true},
		"it ended with exit code 3":                        {Events: code},
		"it never started":                                 {},
		"it never started at 03:04:05":                     {FinishedAt: at},
		"at 03:04:05":                                      {StartedAt: at, FinishedAt: at},
		"and failed":                                       {StartedAt: at, Failed: true},
		"it has ended":                                     {StartedAt: at},
	} {
		if got := (&Task{State: &state}).howItEnded(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Of many tasks, a few are listed and the others counted.
func TestManyTasks(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		2: "t0, t1", 10: "t0, t1, t2, t3, t4, t5, t6, t7, t8, t9", 12: "t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 2 more",
	} {
		var tasks []*Task
		for i := range n {
			tasks = append(tasks, newTask("j", "g", i, "t"+strconv.Itoa(i), "running", strconv.Itoa(i)))
		}
		err := ambiguous("g", tasks, Labels(tasks))
		if got := err.Error(); got != `"g" is ambiguous: `+want {
			t.Errorf("%s, want %s", got, want)
		}
		if got := Running(tasks); got != want {
			t.Errorf("%d run: %s, want %s", n, got, want)
		}
	}
	one := newTask("j", "g", 0, "t", "running", "1")
	old := newTask("j", "g", 0, "t", "running", "2")
	old.Alloc.NextAllocation = "1"
	if got := Running([]*Task{one, old, newTask("j", "g", 0, "dead", "dead", "3")}); got != "t" {
		t.Errorf("running are %q", got)
	}
}

// An error of a cluster has a remedy.
func TestRemedy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("other"), ""},
		{&RefusedError{Code: 401}, "TASKRUN_TOKEN"},
		{&RefusedError{Code: 403}, "TASKRUN_TOKEN"},
		{&RefusedError{Code: 400, Text: "Client sent an HTTP request to an HTTPS server."}, "begin with https://"},
		{&RefusedError{Code: 400, Text: "other"}, ""},
		{x509.UnknownAuthorityError{}, "--ca-cert"},
		{x509.HostnameError{Certificate: &x509.Certificate{}}, "--tls-server-name"},
		{tls.RecordHeaderError{}, "begin with http://"},
		{http.ErrSchemeMismatch, "begin with http://"},
		{errors.New("remote error: tls: certificate required"), "--client-cert"},
	} {
		err := tt.err
		if err != nil {
			err = fmt.Errorf("wrapped: %w", err)
		}
		if got := Remedy(err); got == "" != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
	if !Missing(fmt.Errorf("wrapped: %w", &RefusedError{Code: 404})) || Missing(&RefusedError{Code: 403}) || Missing(errors.New("404")) {
		t.Error("only 404 says that there is none")
	}
}

// The maximum distance of the nearest name depends on the length of the word;
// of two at the same distance, the one with the same length wins.
func TestTargetDistance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ word, names, want string }{
		{"a", "b", ""},
		{"a", "ab", "ab"},
		{"", "ab", ""},
		{"ab", "xb", "xb"},
		{"ab", "xy", ""},
		{"abcd", "xycd", "xycd"},
		{"abcd", "xyzd", ""},
		{"abcdefghijkl", "wxyzefghijkl", "wxyzefghijkl"},
		{"abcdefghijkl", "vwxyzfghijkl", ""},
		{"ABCD", "abcd", "abcd"},
		{"abcd", "abcxe abce", "abce"},
		{"abcd", "abc abce", "abce"},
		{"abcd", "abce abcf", "abce"},
		{"abcd", "abce abcf abc", "abce"},
		{"abcd", "abxy abcf", "abcf"},
	} {
		var tasks []*Task
		for i, name := range strings.Fields(tt.names) {
			tasks = append(tasks, newTask("0123456789/0", "9876543210/9", i, name, "running", "0"))
		}
		if got := nearest(tt.word, tasks); got != tt.want {
			t.Errorf("nearest to %q of %s is %q, want %q", tt.word, tt.names, got, tt.want)
		}
	}
}
