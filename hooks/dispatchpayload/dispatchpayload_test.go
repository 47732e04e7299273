package dispatchpayload_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/allocdir"
	"taskrun/hooks"
	"taskrun/hooks/dispatchpayload"
)

// The payload is written once, to the file below local/ that the task names,
// and nowhere else.
func TestPayload(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{"in.txt": "in.txt", "a/b": "a/b", "../../secrets/x": "secrets/x", "/abs": "abs"} {
		dir := allocdir.At(t.TempDir())
		defer dir.Close()
		if err := errors.Join(dir.Build(), dir.BuildTask("t", nil)); err != nil {
			t.Fatal(err)
		}
		h := dispatchpayload.New(hooks.Task{
			Job: &api.Job{Payload: []byte("payload")}, Task: &api.Task{Name: "t", DispatchPayload: &api.DispatchPayloadConfig{File: file}}, Dir: dir,
		})
		var resp hooks.PrestartResponse
		if err := h.(hooks.TaskPrestart).Prestart(t.Context(), nil, &resp); err != nil || !resp.Done {
			t.Errorf("%s: done %v, %v", file, resp.Done, err)
		}
		if got, err := os.ReadFile(filepath.Join(dir.Path(), "t", "local", want)); err != nil || string(got) != "payload" {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
}

// Without a payload, or a task that uses it, there is no hook.
func TestNoPayload(t *testing.T) {
	t.Parallel()
	wants := &api.DispatchPayloadConfig{File: "in"}
	for name, task := range map[string]hooks.Task{
		"no payload": {Job: &api.Job{}, Task: &api.Task{DispatchPayload: wants}},
		"no block":   {Job: &api.Job{Payload: []byte("x")}, Task: &api.Task{}},
		"no file":    {Job: &api.Job{Payload: []byte("x")}, Task: &api.Task{DispatchPayload: &api.DispatchPayloadConfig{}}},
	} {
		if h := dispatchpayload.New(task); h != nil {
			t.Errorf("%s: there is a hook", name)
		}
	}
}

// A payload that cannot be written fails the start.
func TestUnwritablePayload(t *testing.T) {
	t.Parallel()
	dir := allocdir.At(t.TempDir())
	defer dir.Close()
	if err := errors.Join(dir.Build(), dir.BuildTask("t", nil), os.Mkdir(filepath.Join(dir.Path(), "t", "local", "in"), 0o700)); err != nil {
		t.Fatal(err)
	}
	h := dispatchpayload.New(hooks.Task{
		Job: &api.Job{Payload: []byte("x")}, Task: &api.Task{Name: "t", DispatchPayload: &api.DispatchPayloadConfig{File: "in"}}, Dir: dir,
	})
	var resp hooks.PrestartResponse
	err := h.(hooks.TaskPrestart).Prestart(t.Context(), nil, &resp)
	if err == nil || !strings.HasPrefix(err.Error(), "cannot write the payload: ") || resp.Done {
		t.Errorf("done %v, %v", resp.Done, err)
	}
}
