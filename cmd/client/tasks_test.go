package client

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// A job has a namespace in its key and in its name if the server may show several.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	all := (&Server{}).Agent()
	task := newTask("web", "app", 2, "main", "running", "11111111")
	task.Server, task.Alloc.Namespace = all, "team"
	child := newTask("web/periodic-1", "app", 0, "main", "running", "22222222")
	child.Server, child.Alloc.Namespace = all, "team"
	for name, want := range map[string][2]bool{ // of the job, of the run
		"web": {true, false}, "web team": {false, true}, "web@team": {true, false}, "web other": {false, false}, "we": {false, false},
	} {
		if got := [2]bool{task.OfJob(name), task.OfRun(name)}; got != want {
			t.Errorf("%q: %t, want %t", name, got, want)
		}
	}
	for key, want := range map[string]bool{"web team": true, "web/periodic-1 team": true, "web": false, "web other": false, "we team": false} {
		if got := child.OfRun(key); got != want {
			t.Errorf("a job that was launched, of the run %q: %t", key, got)
		}
	}
	if diff := cmp.Diff(&event.Alloc{Job: "web team", Group: "app", Name: "web.app[2]", ID: "11111111"}, task.EventAlloc()); diff != "" {
		t.Error(diff)
	}
	for _, target := range []string{"web", "main", "web/app[2]/main", "web/app", "web@team", "web@team/app[2]/main"} {
		if found, err := Find([]*Task{task}, target); err != nil || len(found) != 1 {
			t.Errorf("%q: %v, %v", target, found, err)
		}
	}
	if found, err := Find([]*Task{child}, "web"); err != nil || len(found) != 1 {
		t.Errorf("by the job that has launched it: %v, %v", found, err)
	}
	if found, err := Find([]*Task{task}, "app[1]"); err == nil {
		t.Errorf("another allocation: %v", found)
	}
	job := &Job{&api.JobListStub{ID: "web", Namespace: "team"}, all}
	if job.Key() != "web team" || job.Name() != "web@team" {
		t.Errorf("its key is %q, its name %q", job.Key(), job.Name())
	}
	for _, tt := range []struct {
		namespace, id string
		want          bool
	}{{"team", "web", true}, {"other", "web", false}, {"team", "we", false}} {
		if got := job.Is(&api.Job{Namespace: &tt.namespace, ID: &tt.id}); got != tt.want {
			t.Errorf("it is %s of %s: %t", tt.id, tt.namespace, got)
		}
	}
	for _, tt := range []struct {
		server             *Server
		key, namespace, id string
	}{{all, "web team", "team", "web"}, {all, "web", "default", "web"}, {&Server{}, "web team", "", "web team"}} {
		if s, id := tt.server.Of(tt.key); s.Namespace() != tt.namespace || id != tt.id {
			t.Errorf("%q is %q of %q, want %q of %q", tt.key, id, s.Namespace(), tt.id, tt.namespace)
		}
	}
	if all.Namespace() != "*" {
		t.Errorf("another namespace has changed the server: %q", all.Namespace())
	}
}

func TestNamesForCompletion(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{"": "admin app n web", "a": "admin app", "x": ""} {
		if got := strings.Join(GroupNames(shop(), prefix), " "); got != want {
			t.Errorf("groups with %q: %q, want %q", prefix, got, want)
		}
	}
	if got := ActionNames([]Action{{Action: &api.Action{Name: "b"}}, {Action: &api.Action{Name: "a"}}}); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("actions: %q", got)
	}
}

// The last 2 KiB of a command's messages are kept, in whatever pieces they arrive.
func TestLastBytes(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789abcdef", 256)
	for _, size := range []int{1, 7, 2047, 2048, 2049, 4096} {
		var last lastBytes
		for piece := range slices.Chunk([]byte(text), size) {
			if n, err := last.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("%d bytes are written, %v", n, err)
			}
		}
		if !bytes.Equal(last.Bytes(), []byte(text[2048:])) {
			t.Errorf("in pieces of %d bytes it keeps %d bytes", size, last.Len())
		}
	}
}
