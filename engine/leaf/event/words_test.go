package event

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// line formats a task event without its time: "TYPE: TEXT", then its details.
func line(e *api.TaskEvent) string {
	s := e.Type + ": " + e.DisplayMessage
	for _, k := range slices.Sorted(maps.Keys(e.Details)) {
		s += fmt.Sprintf(" %s=%s", k, e.Details[k])
	}
	return s
}

// The texts and details of Nomad's events.
func TestWordsOfTaskEvents(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	const d = 90 * time.Second
	for want, e := range map[string]*api.TaskEvent{
		"Received: Task received by client":     Received(),
		"Task Setup: Building message=Building": Setup("Building"),
		"Setup Failure: failed to setup alloc: broken fails_task=true kill_reason=Failed Restoring Task":                       SetupFailure(broken),
		"Downloading Artifacts: Client is downloading artifacts":                                                               DownloadingArtifacts(),
		"Failed Artifact Download: broken download_error=broken":                                                               ArtifactDownloadFailed(broken),
		"Failed Validation: bad validation_error=bad":                                                                          FailedValidation("bad"),
		"Driver Failure: broken driver_error=broken":                                                                           DriverFailure(broken),
		"Started: Task started by client":                                                                                      Started(),
		"Terminated: Exit Code: 0 exit_code=0 oom_killed=false signal=0":                                                       Terminated(0, 0, false, nil),
		`Terminated: Exit Code: 1, Signal: 9, Exit Message: "broken" exit_code=1 exit_message=broken oom_killed=true signal=9`: Terminated(1, 9, true, broken),
		"Restarting: Task restarting in 1m30s restart_reason=within start_delay=90000000000":                                   Restarting(d, "within", true),
		"Restarting: Task restarting in 1m30s restart_reason= start_delay=90000000000":                                         Restarting(d, "", false),
		"Restarting: often - Task restarting in 1m30s restart_reason=often start_delay=90000000000":                            Restarting(d, "often", false),
		"Not Restarting: often fails_task=true restart_reason=often":                                                           NotRestarting("often"),
		"Restart Signaled: ordered restart_reason=ordered":                                                                     RestartSignaled("ordered"),
		"Signaling: Task being sent a signal signal=SIGHUP":                                                                    Signaling("SIGHUP"),
		"Killing: Sent interrupt. Waiting 1m30s before force killing kill_timeout=1m30s":                                       Killing(d),
		"Killing: late kill_timeout=1m30s":                                                                                     KillingBecause("late", d),
		"Killed: Task successfully killed":                                                                                     Killed(nil),
		"Killed: broken kill_error=broken":                                                                                     Killed(broken),
		"Failed Restoring Task: failed to restore task; it starts again: broken":                                               FailedRestoring(broken),
		`Sibling Task Failed: Task's sibling "a" failed failed_sibling=a`:                                                      SiblingFailed("a"),
		"Leader Task Dead: Leader Task in Group dead":                                                                          LeaderDead(),
		"Main Tasks Dead: Main tasks in the group died":                                                                        MainTasksDead(),
		"Waiting for shutdown delay: Waiting for shutdown_delay of 1m30s before killing the task.":                             WaitingShutdownDelay(d),
		"Skipping shutdown delay: Skipping shutdown_delay of 1m30s before killing the task.":                                   SkippingShutdownDelay(d),
		"Alloc Unhealthy: ill message=ill":                                                                                     AllocUnhealthy("ill"),
		"Task hook failed: h: broken message=h: broken":                                                                        HookFailed("h", broken),
		"Task hook message: well":                                                                                              HookMessage("well"),
		"Driver: Memory peaked at 2 MiB: would have been OOM-killed at 1 MiB memory_limit=1048576 memory_peak=1048577":         OverMemoryLimit(1<<20+1, 1<<20),
		"Driver: pulled image=a":                                                                                               Driver("pulled", map[string]string{"image": "a"}),
		"Template: Missing: a, b, c":                                                                                           TemplateMissing([]string{"a", "b", "c"}),
		"Template: Missing: a, b, c, and 1 more":                                                                               TemplateMissing([]string{"a", "b", "c", "d"}),
		"Restart Signaled: Template with change_mode restart re-rendered":                                                      TemplateRestart(),
		"Signaling: Template re-rendered task_signal=hangup":                                                                   TemplateSignal("hangup"),
		"Task hook message: Template skipped signal hangup: task is not running":                                               TemplateSignalSkipped("hangup"),
		"Task hook message: Template successfully ran script a with arguments: [b]. Exit code: 0":                              TemplateScript("a", []string{"b"}),
		"Task hook failed: Template ran script a with arguments [b] on change but it exited with code: 3":                      TemplateScriptFailed("a", []string{"b"}, 3, nil),
		"Task hook failed: Template failed to run script a with arguments [b] on change: broken. Exit code: 3":                 TemplateScriptFailed("a", []string{"b"}, 3, broken),
		"Killing: bad fails_task=true":                                                                                         KillingFailed("bad"),
		"Restart Signaled: Identity[a]: new token acquired":                                                                    IdentityRestart("a"),
		"Signaling: Identity[a]: new Identity token acquired task_signal=hangup":                                               IdentitySignal("a", "hangup"),
	} {
		if got := line(e); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if strings.Contains(want, "fails_task") != Fails(e) {
			t.Errorf("%s: fails its task: %v", want, Fails(e))
		}
		if since := time.Since(time.Unix(0, e.Time)); since < 0 || since > time.Hour {
			t.Errorf("%s: it happened %v ago", want, since)
		}
	}
}

// The fields that Nomad had before the details have the same values.
func TestOldFieldsOfTaskEvents(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	const d = 90 * time.Second
	for _, test := range []struct{ event, want *api.TaskEvent }{
		{Received(), &api.TaskEvent{}},
		{Setup("Building"), &api.TaskEvent{Message: "Building"}},
		{SetupFailure(broken), &api.TaskEvent{KillReason: "Failed Restoring Task", FailsTask: true}},
		{ArtifactDownloadFailed(broken), &api.TaskEvent{DownloadError: "broken"}},
		{FailedValidation("bad"), &api.TaskEvent{ValidationError: "bad"}},
		{DriverFailure(broken), &api.TaskEvent{DriverError: "broken"}},
		{Terminated(1, 9, true, broken), &api.TaskEvent{ExitCode: 1, Signal: 9, Message: "broken"}},
		{Restarting(d, "within", true), &api.TaskEvent{StartDelay: int64(d), RestartReason: "within"}},
		{NotRestarting("often"), &api.TaskEvent{RestartReason: "often", FailsTask: true}},
		{Signaling("SIGHUP"), &api.TaskEvent{}},
		{KillingBecause("late", d), &api.TaskEvent{KillTimeout: d}},
		{Killed(broken), &api.TaskEvent{KillError: "broken"}},
		{SiblingFailed("a"), &api.TaskEvent{FailedSibling: "a"}},
		{Driver("pulled", nil), &api.TaskEvent{DriverMessage: "pulled"}},
		{TemplateSignal("hangup"), &api.TaskEvent{TaskSignal: "hangup"}},
		{KillingFailed("bad"), &api.TaskEvent{FailsTask: true}},
	} {
		got := *test.event
		test.want.Type, test.want.Time, test.want.DisplayMessage, test.want.Details = got.Type, got.Time, got.DisplayMessage, got.Details
		if diff := cmp.Diff(test.want, &got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", got.Type, diff)
		}
	}
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]Progress{
		"":                          {Total: 5},
		"1 B so far":                {Done: 1},
		"1023 B so far":             {Done: 1023, Total: -1},
		"1.0 KiB so far":            {Done: 1024},
		"512 B of 1.0 MiB, 0 %":     {Done: 512, Total: 1 << 20},
		"99.0 KiB of 100 KiB, 99 %": {Done: 99 << 10, Total: 100 << 10},
		"unpacking 5.0 GiB":         {Done: 5 << 30, Total: 5 << 30},
		"unpacking 4 B":             {Done: 5, Total: 4},
		"5000 TiB so far":           {Done: 5000 << 40},
	} {
		if got := p.Amount(); got != want {
			t.Errorf("%+v is %q, want %q", p, got, want)
		}
	}
}

// Views are updated four times per second; task events are published after 5,
// 10, 20, 40 more seconds, and then once per minute.
func TestTellProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		done, begin, live := make(chan struct{}), time.Now(), 0
		var words []time.Duration
		time.AfterFunc(200*time.Second, func() { close(done) })
		TellProgress(done, func() { live++ }, func() { words = append(words, time.Since(begin)) })
		want := []time.Duration{5 * time.Second, 15 * time.Second, 35 * time.Second, 75 * time.Second, 135 * time.Second, 195 * time.Second}
		if !slices.Equal(words, want) {
			t.Errorf("said after %v, want %v", words, want)
		}
		if live != 799 && live != 800 { // the last one coincides with the end
			t.Errorf("shown %d times in 200 seconds", live)
		}
	})
}

// Events written as JSON are the same after parsing, except for fields that
// JSON omits.
func TestEventsAsJSON(t *testing.T) {
	t.Parallel()
	const at = `"time":"1970-01-01T00:00:01.000000002Z"`
	const of = `"job":"j","group":"g","alloc":"j.g[0]","alloc_id":"1","task":"t"`
	alloc := &Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: "1"}
	for _, tt := range []struct {
		want string
		body Body
	}{
		{
			`{"type":"task_event",` + at + `,` + of + `,"event":"Signaling","message":"m","details":{"a":"b"}}`,
			TaskEvent{&api.TaskEvent{Type: "Signaling", Time: 1e9 + 2, DisplayMessage: "m", Details: map[string]string{"a": "b"}}},
		},
		{`{"type":"task_state",` + at + `,` + of + `,"state":"dead","failed":true,"restarts":3}`, TaskState{State: "dead", Failed: true, Restarts: 3}},
		{
			`{"type":"alloc_status",` + at + `,` + of + `,"status":"failed","description":"d","replaces":"2","retry_ms":1500}`,
			AllocStatus{Status: "failed", Description: "d", Replaces: "2", Retry: 1500 * time.Millisecond},
		},
		{`{"type":"alloc_status",` + at + `,` + of + `,"status":"failed","description":"","retry_ms":0}`, AllocStatus{Status: "failed"}},
		{`{"type":"alloc_status",` + at + `,` + of + `,"status":"running","description":""}`, AllocStatus{Status: "running", Retry: -1}},
		{`{"type":"alloc_health",` + at + `,` + of + `,"healthy":true}`, AllocHealth{Healthy: true}},
		{`{"type":"deployment",` + at + `,` + of + `,"status":"running","description":"d"}`, Deployment{Job: "j", Status: "running", Description: "d"}},
		{
			`{"type":"service",` + at + `,` + of + `,"id":"i","name":"n","address":"a","port":1,"tags":["x"],"registered":true}`,
			Service{ID: "i", Name: "n", Address: "a", Port: 1, Tags: []string{"x"}, Registered: true},
		},
		{`{"type":"check",` + at + `,` + of + `,"service":"s","check":"c","status":"success","output":"o","target":"t"}`, Check{"s", "c", "success", "o", "t"}},
		{
			`{"type":"version",` + at + `,` + of + `,"parent":"p","version":3,"stable":true,"tag":"x"}`,
			Version{Job: "j", Parent: "p", Number: 3, Stable: true, Tag: "x"},
		},
		{
			`{"type":"evaluation",` + at + `,` + of + `,"parent":"p","id":"i","trigger":"alloc-stop","version":3,"deployment":"d","about":"1"}`,
			Evaluation{Job: "j", Parent: "p", ID: "i", Trigger: AllocStop, Version: 3, Deployment: "d", Alloc: "1"},
		},
		{`{"type":"diagnostic",` + at + `,` + of + `,"severity":"warning","summary":"n"}`, Notice{Text: "n"}},
		{
			`{"type":"diagnostic",` + at + `,` + of + `,"severity":"warning","summary":"n","unfixed":"1 error"}`,
			Notice{Text: "n", Unfixed: "1 error"},
		},
		{`{"type":"diagnostic",` + at + `,` + of + `,"severity":"warning","summary":"n","fixed":true}`, Notice{Text: "n", Fixed: true}},
	} {
		e := Event{Time: time.Unix(1, 2).UTC(), Alloc: alloc, Task: "t", Body: tt.body}
		text, err := e.MarshalJSON()
		if diff := cmp.Diff(tt.want, string(text)); diff != "" || err != nil {
			t.Errorf("%T: %v (-want +got):\n%s", tt.body, err, diff)
		}
		back, err := Parse(text)
		if back.Alloc.Parent != "" { // it is in the body, too
			back.Alloc.Parent = alloc.Parent
		}
		if diff := cmp.Diff(e, back); diff != "" || err != nil {
			t.Errorf("%T read back: %v (-want +got):\n%s", tt.body, err, diff)
		}
	}
	about := Event{Time: time.Unix(1, 2).UTC(), Body: Notice{Job: JobKey("prod", "j"), Text: "n"}}
	text, err := about.MarshalJSON()
	if want := `{"type":"diagnostic",` + at + `,"job":"j","namespace":"prod","severity":"warning","summary":"n"}`; string(text) != want || err != nil {
		t.Errorf("about a job: %s, %v", text, err)
	}
	if back, err := Parse(text); !cmp.Equal(about, back) || err != nil || !back.Of(JobKey("prod", "j")) || back.Of("j") {
		t.Errorf("about a job, read back: %+v, %v", back, err)
	}
	deployment, err := Event{Time: time.Unix(1, 2), Body: Deployment{Job: "j", Status: "running"}}.MarshalJSON()
	if want := `{"type":"deployment",` + at + `,"job":"j","status":"running","description":""}`; string(deployment) != want || err != nil {
		t.Errorf("of no allocation: %s, %v", deployment, err)
	}
	if text, err := (Event{Body: Gap{}}).MarshalJSON(); err == nil {
		t.Errorf("a gap is %s", text)
	}
	for _, bad := range []string{``, `{"type":"output"}`, `{"type":"check","output":5}`} {
		if e, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%s is %+v", bad, e)
		}
	}
}

func TestAllocOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		alloc Alloc
		job   string
		want  bool
	}{
		{Alloc{Job: "a"}, "a", true},
		{Alloc{Job: "a"}, "b", false},
		{Alloc{Job: "a/1", Parent: "a"}, "a", true},
		{Alloc{Job: "a/1", Parent: "a"}, "b", false},
		{Alloc{Job: "a"}, "", false},
	} {
		if got := tt.alloc.Of(tt.job); got != tt.want {
			t.Errorf("%+v is of %q: %v", tt.alloc, tt.job, got)
		}
	}
	if Stdout.String() != "stdout" || Stderr.String() != "stderr" {
		t.Errorf("the streams are %q and %q", Stdout, Stderr)
	}
}
