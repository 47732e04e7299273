package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// Secrets of a job are hidden wherever they can be, and references to its parts
// stay.
func TestJob(t *testing.T) {
	t.Parallel()
	job := &api.Job{
		ID: new("token"), Meta: map[string]string{"k": "hide 1"}, Payload: []byte("hide 3"),
		TaskGroups: []*api.TaskGroup{{Name: new("password"), Tasks: []*api.Task{{
			Name: "t", Driver: "docker", Env: map[string]string{"A": "hide 4", "EMPTY": ""},
			Config: map[string]any{
				"image": "app:1", "args": []any{"-x", "known"}, "Env": "stays",
				"auth": []any{map[string]any{"username": "hide 5", "server": 6}}, "privileged": true,
			},
			Artifacts: []*api.TaskArtifact{{
				GetterSource:  new("https://user:hide7@example.com/x"),
				GetterOptions: map[string]string{"sshkey": "hide 8", "checksum": "md5:1"}, GetterHeaders: map[string]string{"X": "hide 9"},
			}},
		}}}},
	}
	text, err := Job(job, func(s string) string { return strings.ReplaceAll(s, "known", "***") })
	if err != nil {
		t.Fatal(err)
	}
	for n, part := range strings.Split(string(text), "hide") {
		if n > 0 {
			t.Errorf("hide%.20s is there", part)
		}
	}
	var got api.Job
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	task := got.TaskGroups[0].Tasks[0]
	if *got.ID != "token" || *got.TaskGroups[0].Name != "password" || task.Name != "t" || got.Meta["k"] != Hidden {
		t.Errorf("ID %q, group %q, task %q, meta %q", *got.ID, *got.TaskGroups[0].Name, task.Name, got.Meta)
	}
	if diff := cmp.Diff(map[string]string{"A": Hidden, "EMPTY": ""}, task.Env); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{
		"image": "app:1", "args": []any{"-x", "***"}, "Env": "stays",
		"auth": []any{map[string]any{"username": Hidden, "server": Hidden}}, "privileged": true,
	}, task.Config); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"sshkey": Hidden, "checksum": "md5:1"}, task.Artifacts[0].GetterOptions); diff != "" {
		t.Error(diff)
	}
}
