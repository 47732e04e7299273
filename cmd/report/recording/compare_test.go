package recording

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const recorded = `{
 "job_status": "dead",
 "register_output": "Job registration successful\nEvaluation ID: ALLOC\n",
 "cli": [["alloc stop -detach $ALLOC", 0, "c727b4e1-31ee-967f-14f7-46564017bba9\n", ""]],
 "alloc_lists": [[["j.g[0]", "running", "run", 2]]],
 "deployments": [[["successful", "Deployment completed successfully", 0, {"g": [1, 0, 1, 1, 0, false, true]}]]],
 "allocs": [{
  "name": "j.g[0]", "client_status": "complete", "client_description": "All tasks have completed", "desired": "run",
  "files": [["alloc", "drwxrwxrwx", 0, 0, 4096], ["t/local/x", "-rw-r--r--", 0, 0, 3]],
  "tasks": {"t": {"state": "dead", "restarts": 1, "stdout": "/a/b/c727b4e1-31ee-967f-14f7-46564017bba9/alloc at 23456\n", "events": [
   {"type": "Restarting", "message": "Task restarting in 1.007292457s", "details": {"start_delay": "1007292457"}}
  ]}}
 }]
}`

func read(t *testing.T, text string) (r Recording) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*Recording)
		want   []string
	}{
		"the same": {func(*Recording) {}, nil},
		"IDs, directories, ports and delays": {func(r *Recording) {
			r.Commands[0].Stdout = "d09b8551-17d3-f80f-6655-910d29318d26\n"
			r.Registered = "Job registration successful\nEvaluation ID: d09b8551-17d3-f80f-6655-910d29318d26"
			task := r.Allocs[0].Tasks["t"]
			task.Stdout = "/elsewhere/d09b8551-17d3-f80f-6655-910d29318d26/alloc at 20001"
			task.Events = []Event{{Type: "Restarting", Message: "Task restarting in 1.2s", Details: map[string]string{"start_delay": "1200000000"}}}
			r.Allocs[0].Tasks["t"] = task
		}, nil},
		"an exit code":       {func(r *Recording) { r.Commands[0].Code = 1 }, []string{"cli/0/alloc stop -detach $ALLOC"}},
		"a status":           {func(r *Recording) { r.JobStatus = "running" }, []string{"job_status"}},
		"a list":             {func(r *Recording) { r.AllocLists[0][0].Desired = "stop" }, []string{"alloc_lists/0"}},
		"a count":            {func(r *Recording) { r.Deployments[0][0].Groups = nil }, []string{"deployments/0"}},
		"an event":           {func(r *Recording) { r.Allocs[0].Tasks["t"].Events[0].Type = "Killing" }, []string{"allocs/j.g[0]#0/tasks/t/events"}},
		"a mode":             {func(r *Recording) { r.Allocs[0].Files[0].Mode = "drwx------" }, []string{"allocs/j.g[0]#0/files/alloc"}},
		"a directory's size": {func(r *Recording) { r.Allocs[0].Files[0].Size = 60 }, nil},
		"a file's size":      {func(r *Recording) { r.Allocs[0].Files[1].Size = 4 }, []string{"allocs/j.g[0]#0/files/t/local/x"}},
		"an owner":           {func(r *Recording) { r.Allocs[0].Files[1].UID = 7 }, []string{"allocs/j.g[0]#0/owners/t/local/x"}},
		"health":             {func(r *Recording) { r.Allocs[0].Healthy = new(true) }, []string{"allocs/j.g[0]#0/healthy"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nomad, taskrun := read(t, recorded), read(t, recorded)
			tt.change(&taskrun)
			var got []string
			for _, d := range Compare(nomad, taskrun, true) {
				got = append(got, d.Path)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A job writes U for each ID and N for each time, which it recognizes by its
// ten digits. An ID may have ten digits, too.
func TestShortenedIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"ea57b92f-644c-d1fe-f13a-Nae", "ea57b92f-644c-d1fe-f13a-aNe", "ea57b92f-644c-d1fe-f13a-aeN", "U"} {
		if got := normalOutput(`{"iat":N,"id":"` + id + `"}`); got != `{"iat":N,"id":"U"}` {
			t.Errorf("%s: %s", id, got)
		}
	}
}

// Equal lines of long values are shown once.
func TestDifferenceOfLongValues(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]Difference{
		`p: Nomad "a", taskrun ""`: {"p", "a", ""},
		`p:
    both     a
  ! nomad    b
  ! taskrun  c
    both     d
  ! nomad    e
  ! taskrun  `: {"p", "a\nb\nd\ne", "a\nc\nd"},
	} {
		if diff := cmp.Diff(want, d.String()); diff != "" {
			t.Error(diff)
		}
	}
}
