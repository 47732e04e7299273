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
		"a line of a list":   {func(r *Recording) { r.AllocLists[0] = append(r.AllocLists[0], AllocLine{Name: "j.g[1]"}) }, []string{"alloc_lists/0"}},
		"a description":      {func(r *Recording) { r.Allocs[0].Description = "" }, []string{"allocs/j.g[0]#0/status"}},
		"a predecessor":      {func(r *Recording) { r.Allocs[0].Previous = true }, []string{"allocs/j.g[0]#0/previous"}},
		"what is desired":    {func(r *Recording) { r.Allocs[0].Desired = new("stop") }, []string{"allocs/j.g[0]#0/desired"}},
		"a version":          {func(r *Recording) { r.Allocs[0].Version = new(uint64(1)) }, []string{"allocs/j.g[0]#0/version"}},
		"a trace":            {func(r *Recording) { r.Allocs[0].Trace = new("x") }, []string{"allocs/j.g[0]#0/trace"}},
		"another allocation": {func(r *Recording) { r.Allocs = append(r.Allocs, Alloc{Name: "j.g[0]", Status: "lost", Created: 1}) }, []string{"allocs/j.g[0]#1/previous", "allocs/j.g[0]#1/status"}},
		"restarts and stderr": {func(r *Recording) {
			task := r.Allocs[0].Tasks["t"]
			task.Restarts, task.Stderr = 2, "oh"
			r.Allocs[0].Tasks["t"] = task
		}, []string{"allocs/j.g[0]#0/tasks/t/state", "allocs/j.g[0]#0/tasks/t/stderr"}},
		"sizes of logs": {func(r *Recording) {
			r.Allocs[0].Files = append(r.Allocs[0].Files, File{Path: "alloc/logs/t.stdout.0", Mode: "-rw-r--r--", Size: 3}, File{Path: "t/executor.out", Mode: "-rw-r--r--", Size: 3})
		}, []string{"allocs/j.g[0]#0/files/alloc/logs/t.stdout.0", "allocs/j.g[0]#0/files/t/executor.out", "allocs/j.g[0]#0/owners/alloc/logs/t.stdout.0", "allocs/j.g[0]#0/owners/t/executor.out"}},
		"health": {func(r *Recording) { r.Allocs[0].Healthy = new(true) }, []string{"allocs/j.g[0]#0/healthy"}},
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

// Only the latest events count, because Nomad keeps no others. Delays do not count,
// but whether there is one does.
func TestLines(t *testing.T) {
	t.Parallel()
	events := []Event{{Type: "Old"}}
	for _, e := range []Event{
		{Type: "A", Message: "restarting in 0s", Details: map[string]string{"start_delay": "0", "b": "2"}},
		{Type: "B", Message: "Task restarting in 15.5s", Details: map[string]string{"start_delay": "15500000000", "a": "1"}},
		{Type: "Driver Failure", Message: launching + "no such file", Details: map[string]string{"x": "1"}},
		{Type: "Driver Failure", Message: "another", Details: map[string]string{"x": "1"}},
		{Type: "C", Message: launching + "kept", Details: map[string]string{"start_delay": ""}},
	} {
		events = append(events, e, e)
	}
	var got []string
	for i, line := range Lines(events) {
		if i%2 == 0 {
			got = append(got, line)
		}
	}
	want := []string{
		"A | restarting in 0s | b=2 | start_delay=0", "B | Task restarting in DELAY | a=1 | start_delay=DELAY", "Driver Failure | " + launching, "Driver Failure | another | x=1",
		"C | " + launching + "kept | start_delay=",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Values that differ from run to run are not compared in outputs.
func TestNormalOutput(t *testing.T) {
	t.Parallel()
	const id = "c727b4e1-31ee-967f-14f7-46564017bba9"
	for text, want := range map[string]string{
		"<HTTP Error 404: Not Found>": "", "a <HTTP Error 404>": "a <HTTP Error 404>", "a\r\nb\n": "a\nb", "a\n\n": "a\n",
		"x=/a/" + id + "/b": "x=DIR/b", "alloc " + id: "alloc ID", "NOMAD_SHORT_ALLOC_ID=c727b4e1": "NOMAD_SHORT_ALLOC_ID=ID",
		"port 20000, 123456, 1234": "port PORT, 123456, 1234", "at 2026-01-02T03:04:05.6Z and 2026-01-02T03:04:05+01:00": "at TIME and TIME",
		`{"CreateIndex": 12, "ModifyTime": 7, "Index": 3}`:          `{"CreateIndex": N, "ModifyTime": N, "Index": 3}`,
		"job/dispatch-1700000000-c727b4e1, job/periodic-1700000000": "job/dispatch-ID, job/periodic-ID",
		"a\nApproximate next launch time: soon\nb":                  "a\nb", "Evaluation ID: x\nEvaluation ID = y": "Evaluation ID: ID\nEvaluation ID = ID",
		"a\n\n==> View this in the Web UI: http://x\n": "a", "-rw-  12 KiB  x": "-rw-  SIZE  x",
		"1.2.3.4 [01/Feb/2026 03:04:05] \"GET /health HTTP/1.1\" 200\nb": "b",
	} {
		if got := normalOutput(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"post start\nmain start\nend": "main start\npost start\nend", "cat: no such file or directory": "", "main start\n": "main start\n",
	} {
		if got := normalTrace(text); got != want {
			t.Errorf("the trace %q: %q, want %q", text, got, want)
		}
	}
}
