package report_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/outcome"
	"taskrun/cmd/report"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec"
)

var (
	update = flag.Bool("update", false, "write the golden files")
	began  = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
)

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what was written (-want +got); go test -update writes it:\n%s", path, diff)
	}
}

func job(id string, groups ...*api.TaskGroup) *api.Job {
	j := api.NewBatchJob(id, id, "global", 50)
	j.TaskGroups = groups
	j.Canonicalize()
	return j
}

func group(name string, count int, tasks ...string) *api.TaskGroup {
	g := api.NewTaskGroup(name, count)
	for _, t := range tasks {
		g.Tasks = append(g.Tasks, api.NewTask(t, "raw_exec"))
	}
	return g
}

// story is a run that is told event by event.
type story struct {
	*fold.Run
	now time.Time
}

func begin(jobs ...*api.Job) *story { return &story{fold.New(jobs), began} }

func alloc(job, group, id string) *event.Alloc {
	return &event.Alloc{ID: strings.Repeat(id, 8) + "-0000-0000-0000-000000000000", Name: job + "." + group + "[0]", Job: job, Group: group}
}

func (s *story) say(a *event.Alloc, task string, body event.Body) *story {
	s.now = s.now.Add(500 * time.Millisecond)
	s.Apply(event.Event{Time: s.now, Alloc: a, Task: task, Body: body})
	return s
}

func (s *story) runs(a *event.Alloc, task string) *story {
	return s.say(a, task, event.TaskEvent{TaskEvent: event.Started()}).say(a, task, event.TaskState{State: "running"})
}

func (s *story) dies(a *event.Alloc, task string, code int) *story {
	s.say(a, task, event.TaskEvent{TaskEvent: event.Terminated(code, 0, false, nil)})
	return s.say(a, task, event.TaskState{State: "dead", Failed: code != 0, ExitCode: &code, Restarts: uint64(code)})
}

func (s *story) status(a *event.Alloc, status string) *story {
	return s.say(a, "", event.AllocStatus{Status: status, Retry: -1})
}

// facts returns the facts of a run with a hostile output.
func (s *story) facts(code int, cause string) report.Facts {
	return report.Facts{
		Command: "taskrun up", Version: "1.2.3", Host: "ci-1", Began: began,
		Result: outcome.Result{ExitCode: code, Cause: cause, Time: s.now},
		Output: func(_, task string) []string {
			if task != "migrate" {
				return nil
			}
			return []string{"connecting to db:5432", "::error::not from taskrun", "```", "# not a heading, 100% <b>", "| a | b |", "]]>"}
		},
		Diagnostics: jobspec.Diagnostics{{Severity: jobspec.Warning, Summary: "memory is not enforced", Range: at("jobs/shop.nomad.hcl", 3)}},
		Place: func(job, _, task string) jobspec.Range {
			if task == "" {
				return at("jobs/"+job+".nomad.hcl", 1)
			}
			return at("jobs/"+job+".nomad.hcl", 12)
		},
	}
}

func at(file string, line int) jobspec.Range {
	return jobspec.Range{File: file, Start: jobspec.Pos{Line: line, Column: 5, Byte: 80}, End: jobspec.Pos{Line: line, Column: 19, Byte: 94}}
}

func same(path string) string { return path }

// runs are runs of all kinds: name → facts and state.
func runs() map[string]*report.Run {
	failed := begin(job("shop", group("app", 1, "migrate", "web"), group("db", 1, "db")), job("mail", group("smtp", 1, "smtp")))
	app, db, smtp := alloc("shop", "app", "1"), alloc("shop", "db", "2"), alloc("mail", "smtp", "3")
	failed.status(app, "pending").status(db, "pending").status(smtp, "pending")
	failed.runs(db, "db").runs(smtp, "smtp").runs(app, "migrate").dies(app, "migrate", 3).status(app, "failed")
	failed.dies(smtp, "smtp", 0).status(smtp, "complete").dies(db, "db", 0).status(db, "complete")

	good := begin(job("hello", group("g", 1, "say|it`s")))
	a := alloc("hello", "g", "1")
	good.runs(a, "say|it`s").dies(a, "say|it`s", 0).status(a, "complete")

	late := begin(job("slow", group("g", 1, "t")))
	b := alloc("slow", "g", "1")
	zero := 143
	late.runs(b, "t").say(b, "t", event.TaskState{State: "dead", ExitCode: &zero}).status(b, "complete")

	sick := begin(job("web", group("g", 1, "t")))
	c := alloc("web", "g", "1")
	sick.runs(c, "t").say(nil, "", event.Deployment{ID: "d", Job: "web", Status: "failed"})
	sick.say(c, "", event.Check{Service: "web", Check: "ready", Status: "failure", Target: "http://127.0.0.1:8080/ready", Output: "503 ``` the database\nis away"})
	sick.say(c, "t", event.TaskState{State: "dead", ExitCode: &zero}).status(c, "complete")

	both := begin(job("web", group("g", 1, "t")))
	d := alloc("web", "g", "1")
	both.runs(d, "t").say(nil, "", event.Deployment{ID: "d", Job: "web", Status: "failed"})
	both.say(d, "", event.Check{Service: "web", Check: "ready", Status: "failure", Target: "http://127.0.0.1:8080/ready", Output: "503"})
	both.dies(d, "t", 127).say(d, "", event.AllocStatus{Status: "failed", Retry: -1})

	waits := group("g", 1, "migrate", "web")
	waits.Tasks[0].Lifecycle = &api.TaskLifecycle{Hook: api.TaskLifecycleHookPrestart}
	waiting := begin(job("shop", waits))
	e := alloc("shop", "g", "1")
	waiting.status(e, "pending").runs(e, "migrate").dies(e, "migrate", 3).say(e, "web", event.TaskState{State: "dead"}).status(e, "failed")

	return map[string]*report.Run{
		"both":    report.Of(both.Run, both.facts(1, "")),
		"waiting": report.Of(waiting.Run, waiting.facts(1, "")),
		"failed":  report.Of(failed.Run, failed.facts(1, "")),
		"good":    report.Of(good.Run, good.facts(0, "")),
		"timeout": report.Of(late.Run, late.facts(124, "the timeout of 1s has passed with t running")),
		"check":   report.Of(sick.Run, sick.facts(1, `the deployment of job "web" has failed: Failed due to progress deadline`)),
	}
}

// Each run is told in all formats, as the golden files have it.
func TestReportsOfRuns(t *testing.T) {
	t.Parallel()
	for name, r := range runs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := report.JUnit("taskrun up", r.Suites())
			golden(t, name+".xml", text)
			conforms(t, text)
			golden(t, name+".md", []byte(r.StepSummary(report.MaxStepSummary, same)))
			golden(t, name+".annotation", []byte(r.Annotation(same)))
		})
	}
}

// A run that the user stopped is no error of the job.
func TestNoAnnotationOfAnInterruptedRun(t *testing.T) {
	t.Parallel()
	s := begin(job("slow", group("g", 1, "t")))
	a := alloc("slow", "g", "1")
	s.runs(a, "t").status(a, "complete")
	facts := s.facts(130, "interrupt")
	facts.Result.User = true
	if got := report.Of(s.Run, facts).Annotation(same); got != "" {
		t.Error(got)
	}
}

// A summary has no more bytes than there is room, and the failure before the table.
func TestStepSummaryFits(t *testing.T) {
	t.Parallel()
	r := runs()["failed"]
	whole := r.StepSummary(report.MaxStepSummary, same)
	for room := range len(whole) + 1 {
		got := r.StepSummary(room, same)
		if len(got) > room {
			t.Fatalf("%d bytes for %d", len(got), room)
		}
		if room == len(whole)-1 && (strings.Contains(got, "| Task |") || !strings.Contains(got, "migrate")) {
			t.Errorf("without room for the table: %s", got)
		}
	}
}

// Of more than 200 tasks the table has those that failed, and of more than 20 warnings
// the summary has the first ones.
func TestStepSummaryOfALargeRun(t *testing.T) {
	t.Parallel()
	for tasks, want := range map[int]string{200: "", 201: "\n\nand 200 more tasks\n", 402: "\n\nand 202 more tasks\n"} {
		r := &report.Run{Jobs: []report.Job{{ID: "j"}, {ID: "k"}}}
		failed := 1
		if tasks > 400 {
			failed = 201
		}
		for i := range tasks {
			task := report.Task{Alloc: fmt.Sprint("a", i), Name: "t", State: "dead", Replaced: i % 2}
			if i < failed {
				task.Failure = &report.Failure{}
			}
			j := &r.Jobs[i%2]
			j.Tasks = append(j.Tasks, task)
		}
		got := r.StepSummary(report.MaxStepSummary, same)
		if !strings.Contains(got, "| `a0` | `t` | ❌ dead, failed | – | 0 | – |\n") || tasks == 200 && !strings.Contains(got, "| dead, allocation replaced 1× | – | 0 | – |\n") {
			t.Errorf("rows of tasks of which little is known: %.300s", got)
		}
		rows := min(tasks, 200)
		if want != "" {
			rows = min(failed, 200)
		}
		if n := strings.Count(got, "\n| `a"); n != rows || want == "" && strings.Contains(got, " more task") || !strings.Contains(got, want) {
			t.Errorf("%d tasks: %d rows, want %d: %.300s…%q", tasks, n, rows, got, got[len(got)-60:])
		}
	}
	for warnings, want := range map[int]string{0: "", 20: "", 21: "- and 1 more warning\n", 22: "- and 2 more warnings\n"} {
		r := &report.Run{Facts: report.Facts{Diagnostics: make(jobspec.Diagnostics, warnings, warnings+1)}}
		for i := range r.Diagnostics {
			r.Diagnostics[i] = jobspec.Diagnostic{Severity: jobspec.Warning, Summary: "beware"}
		}
		r.Diagnostics = append(r.Diagnostics, jobspec.Diagnostic{Severity: jobspec.Hint, Summary: "a hint"})
		list := ""
		if warnings > 0 {
			list = "\n" + strings.Repeat("- ⚠️ beware\n", min(warnings, 20)) + want
		}
		if got, want := r.StepSummary(report.MaxStepSummary, same), "### ✅ :\n\n"+list+"\n"; got != want {
			t.Errorf("%d warnings: %q, want %q", warnings, got, want)
		}
	}
}

// Cases are told in a table, and the first failure of all in full.
func TestCasesSummary(t *testing.T) {
	t.Parallel()
	good := report.Case{Name: "stays up", Took: 1500 * time.Millisecond}
	skipped := report.Case{Name: "late", Skipped: "an earlier run failed"}
	bad := report.Case{Name: "re|starts", Took: time.Second, Failures: []report.Failed{{"assert", "2 == 3", "no\n"}, {"assert", "second", "b"}}}
	const head = "| File | Run | Result | Duration |\n|---|---|---|---:|\n"
	rows := "| `a` | `stays up` | ✅ passed | 1.5s |\n| `a` | `late` | an earlier run failed | <1ms |\n"
	failure := "\n**re\\|starts: 2 == 3**\n\n```text\nno\n```\n"
	suites := []report.Suite{{Name: "a", Cases: []report.Case{good, skipped}}, {Name: "b", Cases: []report.Case{bad, bad}}}
	if got, want := report.CasesSummary("1 test", suites[:1], report.MaxStepSummary), "### ✅ 1 test\n\n"+head+rows+"\n"; got != want {
		t.Errorf("without a failure: %q, want %q", got, want)
	}
	whole := "### ❌ 2 tests\n\n" + head + rows + strings.Repeat("| `b` | `re\\|starts` | ❌ failed | 1s |\n", 2) + failure + "\n"
	short, least := "### ❌ 2 tests\n"+failure+"\n", "### ❌ 2 tests\n\n"
	for room, want := range map[int]string{
		len(whole): whole, len(whole) - 1: short, len(short): short, len(short) - 1: least, len(least): least, len(least) - 1: "",
	} {
		if got := report.CasesSummary("2 tests", suites, room); got != want {
			t.Errorf("with room for %d bytes: %q, want %q", room, got, want)
		}
	}
}

// The output of a task cannot leave its code block.
func FuzzStepSummary(f *testing.F) {
	f.Add("```\n# out", "a|b`c")
	f.Add("``````\n~~~\n", "``")
	f.Fuzz(func(t *testing.T, output, name string) {
		s := begin(job("j", group("g", 1, name)))
		a := alloc("j", "g", "1")
		s.runs(a, name).dies(a, name, 1).status(a, "failed")
		facts := s.facts(1, "")
		facts.Output = func(string, string) []string { return strings.Split(output, "\n") }
		r := report.Of(s.Run, facts)
		fence := ""
		for line := range strings.Lines(r.StepSummary(report.MaxStepSummary, same)) {
			line = strings.TrimSuffix(line, "\n")
			switch opening, _, ok := strings.Cut(line, "text"); {
			case fence == "" && ok && strings.Trim(opening, "`") == "" && len(opening) >= 3:
				fence = opening
			case fence != "" && line == fence:
				fence = ""
			case fence == "" && strings.Contains(line, "|") && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "**") && !strings.HasPrefix(line, "#"):
				t.Errorf("%q is outside of the block", line)
			}
		}
		if fence != "" {
			t.Error("the block has no end")
		}
		if text := r.Annotation(same); strings.ContainsAny(text, "\r\n") || !strings.HasPrefix(text, "::error file=") {
			t.Errorf("annotation %q", text)
		}
		if rows := strings.Count(r.StepSummary(report.MaxStepSummary, same), "\n| "); rows != 2 {
			t.Errorf("%d rows", rows)
		}
	})
}

// The summary of refused job files has as many errors as fit.
func TestRefusedSummary(t *testing.T) {
	t.Parallel()
	facts := report.Facts{Command: "taskrun up", Diagnostics: jobspec.Diagnostics{
		{Severity: jobspec.Error, Summary: "first"}, {Severity: jobspec.Warning, Summary: "beware"}, {Severity: jobspec.Error, Summary: "```"},
	}}
	text := func(d jobspec.Diagnostic) string { return d.Severity.String() + ": " + d.Summary }
	whole := report.RefusedSummary(facts, text, report.MaxStepSummary)
	golden(t, "refused.md", []byte(whole))
	if got := report.RefusedSummary(facts, text, len(whole)); got != whole {
		t.Errorf("%q for exactly as many bytes as it has", got)
	}
	for room := range len(whole) {
		if got := report.RefusedSummary(facts, text, room); len(got) > room || room == len(whole)-1 && !strings.Contains(got, "beware") {
			t.Fatalf("%q for %d bytes", got, room)
		}
	}
}

func TestCodeQuality(t *testing.T) {
	t.Parallel()
	text := report.CodeQuality(jobspec.Diagnostics{
		{Severity: jobspec.Error, Summary: "unknown attribute", Detail: "it belongs\nelsewhere", Remedy: "remove it", Range: at("./jobs/web.nomad.hcl", 7)},
		{Severity: jobspec.Warning, Summary: "twice", Range: at("jobs/web.nomad.hcl", 8)},
		{Severity: jobspec.Warning, Summary: "twice", Range: at("jobs/web.nomad.hcl", 9)},
		{Severity: jobspec.Hint, Summary: "without a place"},
	}, "jobs/web.nomad.hcl", same)
	golden(t, "quality.json", text)
	var issues []struct{ Fingerprint string }
	if err := json.Unmarshal(text, &issues); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, i := range issues {
		if seen[i.Fingerprint] {
			t.Errorf("fingerprint %s belongs to two issues", i.Fingerprint)
		}
		seen[i.Fingerprint] = true
	}
	if got := string(report.CodeQuality(jobspec.Diagnostics{{Summary: "nowhere"}}, "", same)); got != "[]\n" {
		t.Errorf("without a file: %s", got)
	}
}

func TestSections(t *testing.T) {
	t.Parallel()
	got := report.SectionStart(began, "taskrun_1", "taskrun up\nweb", true) + report.SectionEnd(began.Add(time.Minute), "taskrun_1")
	want := "\x1b[0Ksection_start:1773489600:taskrun_1[collapsed=true]\r\x1b[0Ktaskrun up web\n" +
		"\x1b[0Ksection_end:1773489660:taskrun_1\r\x1b[0K\n"
	if got != want {
		t.Errorf("%q", got)
	}
}

// obeyed matches what GitHub's runner takes for a command. The runner accepts both
// line ends, and ignores leading blanks.
var obeyed = regexp.MustCompile(`(?i)(?:^|[\r\n])[\s\p{Z}\x{85}]*::[a-z]|##\[[a-z]`)

func TestGuard(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain text\n":                             "plain text\n",
		"::error::x\n":                             `::\error::x` + "\n",
		"a ::error::x\n":                           "a ::error::x\n",
		"app │ x\r::add-mask::y\n":                 "app │ x\r" + `::\add-mask::y` + "\n",
		" \t\u00a0::set-output name=a::b":          " \t\u00a0" + `::\set-output name=a::b`,
		"\u2000::Zero ::a\n::Add\n::z\n##[Z]##[A]": "\u2000" + `::\Zero ::a` + "\n" + `::\Add` + "\n" + `::\z` + "\n" + `##[\Z]##[\A]`,
		"::1 localhost\n:::a\n":                    "::1 localhost\n:::a\n",
		"##heading [[[[link]##\n[a]":               "##heading [[[[link]##\n[a]",
		"app │ ##[error]x ##[group]\n":             `app │ ##[\error]x ##[\group]` + "\n",
		"###[stop-commands]x\n## [a]#[b]#\n[c]":    `###[\stop-commands]x` + "\n## [a]#[b]#\n[c]",
	} {
		for size := 1; size <= len(in); size++ {
			var out strings.Builder
			g := &report.Guard{To: &out}
			for rest := in; rest != ""; {
				n, err := g.Write([]byte(rest[:min(size, len(rest))]))
				if err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if out.String() != want {
				t.Fatalf("%q became %q, want %q, in pieces of %d", in, out.String(), want, size)
			}
		}
		if obeyed.MatchString(want) {
			t.Errorf("GitHub would obey %q", want)
		}
	}
}

// Output that cannot be written is an error, with and without a command in it.
func TestGuardOfAClosedFile(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"plain", "::error::x"} {
		read, write := io.Pipe()
		read.Close()
		if n, err := (&report.Guard{To: write}).Write([]byte(text)); n != 0 || err != io.ErrClosedPipe {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}

// Whatever a task writes, GitHub obeys nothing, and JSON keeps its meaning.
func FuzzGuard(f *testing.F) {
	f.Add("\r::error::x\n##[a]", 3)
	f.Add("# ##[[A]\u2028 ::a", 1)
	f.Fuzz(func(t *testing.T, in string, size int) {
		size = max(1, size)
		pass := func(text string, json bool) string {
			var out strings.Builder
			g := &report.Guard{To: &out, JSON: json}
			for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
				if _, err := g.Write([]byte(rest[:min(size, len(rest))])); err != nil {
					t.Fatal(err)
				}
			}
			return out.String()
		}
		if got := pass(in, false); obeyed.MatchString(got) {
			t.Errorf("GitHub would obey %q", got)
		}
		object, err := json.Marshal(map[string]string{"line": in})
		if err != nil {
			t.Fatal(err)
		}
		got := pass(string(object)+"\n", true)
		var was, is map[string]string
		if err := json.Unmarshal(object, &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(got), &is); err != nil || is["line"] != was["line"] || obeyed.MatchString(got) {
			t.Errorf("%s became %s: %v", object, got, err)
		}
	})
}

// BenchmarkGuard guards lines of output.
func BenchmarkGuard(b *testing.B) {
	text := []byte(strings.Repeat("a line of output, as tasks write them, with some # and : in it [x]\n", 4000))
	g := &report.Guard{To: io.Discard}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := g.Write(text); err != nil {
			b.Fatal(err)
		}
	}
}
