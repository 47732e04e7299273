package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// serveActions runs a task with an action, and sends the commands that run.
func serveActions(t *testing.T) (f *fixture, alloc *api.Allocation, ran <-chan []string) {
	t.Helper()
	task := newTask("main", "run_for", "1h")
	task.Actions = []*api.Action{{Name: "hello", Command: "/bin/echo", Args: []string{"a b", "$HOME"}}}
	ended := newTask("ended")
	ended.Lifecycle = &api.TaskLifecycle{Hook: "prestart"}
	ended.Actions = task.Actions
	f = serve(t, newJob("job", "batch", task, ended))
	commands := make(chan []string, 1)
	f.driver.exec = func(_ context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
		commands <- o.Command
		_, err := o.Stdout.Write([]byte("out"))
		return &drivers.ExitResult{ExitCode: 3}, err
	}
	return f, f.alloc(f.running("main").ID), commands
}

func TestActions(t *testing.T) {
	t.Parallel()
	f, alloc, ran := serveActions(t)
	var list []map[string]any
	if _, err := f.client.Raw().Query("/v1/job/job/actions", &list, nil); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{{
		"Name": "hello", "Command": "/bin/echo", "Args": []any{"a b", "$HOME"}, "TaskName": "main", "TaskGroupName": "g",
	}, {
		"Name": "hello", "Command": "/bin/echo", "Args": []any{"a b", "$HOME"}, "TaskName": "ended", "TaskGroupName": "g",
	}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	var out strings.Builder
	code, err := f.client.Jobs().ActionExec(t.Context(), alloc, "job", "main", false, nil, "hello", strings.NewReader(""), &out, &out, nil, nil)
	if err != nil || code != 3 || out.String() != "out" {
		t.Errorf("code %d, %q, %v", code, out.String(), err)
	}
	if diff := cmp.Diff([]string{"/bin/echo", "a b", "$HOME"}, <-ran); diff != "" {
		t.Errorf("ran (-want +got):\n%s", diff)
	}
}

func TestActionsThatAreRefused(t *testing.T) {
	t.Parallel()
	f, alloc, ran := serveActions(t)
	for want, call := range map[string]struct{ job, alloc, task, action string }{
		"job other does not have allocation " + alloc.ID:          {"other", alloc.ID, "main", "hello"},
		"task none not found in allocation " + alloc.ID:           {"job", alloc.ID, "none", "hello"},
		"action none not found in task main":                      {"job", alloc.ID, "main", "none"},
		`task "ended" is not running.`:                            {"job", alloc.ID, "ended", "hello"},
		"must provide task name":                                  {"job", alloc.ID, "", "hello"},
		"action name must be supplied":                            {"job", alloc.ID, "main", ""},
		`Unknown allocation "` + strings.Repeat("0", 36) + `"`:    {"job", strings.Repeat("0", 36), "main", "hello"},
		`Unknown allocation "../` + strings.Repeat("0", 33) + `"`: {"job", "../" + strings.Repeat("0", 33), "main", "hello"},
	} {
		conn := f.dial("/v1/job/" + call.job + "/action?tty=false&command=%5B%22evil%22%5D&allocID=" + call.alloc + "&task=" + call.task + "&action=" + call.action)
		if _, _, err := conn.ReadMessage(); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("closed with %v, want %s", err, want)
		}
	}
	if resp := f.do("GET", "/v1/job/job/action?action=hello&task=main&allocID="+alloc.ID, nil); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without a websocket: %d", resp.StatusCode)
	}
	select {
	case command := <-ran:
		t.Errorf("%q ran", command)
	default:
	}
}
