package validate

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// Update is also for the tests outside of the package.
var Update = flag.Bool("update", false, "write the golden files")

// A fault changes a valid job, its group or its task, and lists the expected
// diagnostics: severity, path and summary of each, in order.
type fault struct {
	name  string
	job   func(*api.Job)
	group func(*api.TaskGroup)
	task  func(*api.Task)
	want  []string
}

func (f fault) diagnostics() jobspec.Diagnostics {
	job := validJob()
	if f.job != nil {
		f.job(job)
	}
	if f.group != nil {
		f.group(job.TaskGroups[0])
	}
	if f.task != nil {
		f.task(job.TaskGroups[0].Tasks[0])
	}
	job.Canonicalize()
	return Job(job, nil)
}

// checkFaults compares the diagnostics of each fault with what it expects, and all
// their words with testdata/words/<test>.txt.
func checkFaults(t *testing.T, faults []fault) {
	t.Helper()
	var words strings.Builder
	for _, f := range faults {
		diagnostics := f.diagnostics()
		for i, line := range outline(diagnostics) {
			fmt.Fprintf(&words, "%s\n\t%s\n\t%s\n", line, diagnostics[i].Detail, diagnostics[i].Remedy)
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(f.want, outline(diagnostics)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s\n%s", diff, diagnostics.Error())
			}
			for _, p := range diagnostics {
				checkRemedy(t, p.Remedy)
				if p.Path == "" || p.Summary == "" || !p.Range.IsZero() {
					t.Errorf("diagnostic without path or summary, or with a range: %+v", p)
				}
			}
		})
	}
	checkWords(t, words.String())
}

// example matches the HCL of a remedy: an attribute, or a block in one line.
var example = regexp.MustCompile(`[a-z_]+( "[^"]*")* \{.*\}|[a-z_]+ = ("[^"]*"|\S+)`)

// checkRemedy fails if the HCL of a remedy would not be accepted: a block in one line
// has at most one attribute, and no block.
func checkRemedy(t *testing.T, remedy string) {
	t.Helper()
	for _, text := range example.FindAllString(remedy, -1) {
		text = strings.NewReplacer("{ … }", "{}", " …", " 1").Replace(strings.TrimRight(text, ",;"))
		if _, diagnostics := hclsyntax.ParseConfig([]byte(text), "remedy", hcl.InitialPos); diagnostics.HasErrors() {
			t.Errorf("%q: %v", text, diagnostics)
		}
	}
}

func checkWords(t *testing.T, got string) {
	t.Helper()
	if got == "" {
		return
	}
	golden := filepath.Join("testdata", "words", t.Name()+".txt")
	if *Update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the words (-want +got):\n%s", diff)
	}
}

func outline(diagnostics jobspec.Diagnostics) []string {
	var lines []string
	for _, p := range diagnostics {
		lines = append(lines, fmt.Sprintf("%s %s: %s", p.Severity, p.Path, p.Summary))
	}
	return lines
}

// validJob is a service job of one group and one task without any diagnostic.
func validJob() *api.Job {
	return &api.Job{
		ID:   new("web"),
		Type: new("service"),
		TaskGroups: []*api.TaskGroup{{
			Name:          new("g"),
			ShutdownDelay: new(time.Second),
			Networks:      []*api.NetworkResource{{DynamicPorts: []api.Port{{Label: "http"}}}},
			Tasks:         []*api.Task{{Name: "t", Driver: "raw_exec", Config: map[string]any{"command": "true"}, ShutdownDelay: time.Second}},
		}},
	}
}

func TestValidJobHasNoDiagnostic(t *testing.T) {
	t.Parallel()
	for _, kind := range jobTypes() {
		job := validJob()
		job.Type = new(kind)
		job.Canonicalize()
		if diagnostics := Job(job, nil); len(diagnostics) > 0 {
			t.Errorf("%s job:\n%v", kind, diagnostics.Error())
		}
	}
}

func TestRemediesNameWhatWasMeant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(j *api.Job, g *api.TaskGroup, t *api.Task)
		want string
	}{
		{"job type", func(j *api.Job, _ *api.TaskGroup, _ *api.Task) { j.Type = new("sevrice") }, `did you mean "service"?`},
		{"job type far from all", func(j *api.Job, _ *api.TaskGroup, _ *api.Task) { j.Type = new("deamon") }, `write one of service, batch, system, sysbatch`},
		{"job ID", func(j *api.Job, _ *api.TaskGroup, _ *api.Task) { j.ID = new("my job") }, `write "my-job"`},
		{"port", func(_ *api.Job, g *api.TaskGroup, _ *api.Task) {
			g.Services = []*api.Service{{Provider: "nomad", PortLabel: "htpp"}}
		}, `did you mean "http"?`},
		{"signal in lower case", func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.KillSignal = "sigterm" }, `write "SIGTERM"`},
		{"signal without SIG", func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.KillSignal = "hup" }, `write "SIGHUP"`},
		{"signal misspelled", func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.KillSignal = "SIGTREM" }, `did you mean "SIGTERM"?`},
		{"reference to a port", func(_ *api.Job, _ *api.TaskGroup, t *api.Task) {
			t.Env = map[string]string{"A": "${NOMAD_ADDR_htp}"}
		}, `did you mean "NOMAD_ADDR_http"?`},
		{"attribute without attr", func(j *api.Job, _ *api.TaskGroup, _ *api.Task) {
			j.Constraints = []*api.Constraint{{LTarget: "${kernel.name}", Operand: "=", RTarget: "linux"}}
		}, `write "${attr.kernel.name}", or one of ${node.*}, ${meta.*} and ${device.*}`},
		{"attribute without brace", func(j *api.Job, _ *api.TaskGroup, _ *api.Task) {
			j.Constraints = []*api.Constraint{{LTarget: "$attr.kernel.name", Operand: "=", RTarget: "linux"}}
		}, `write "${attr.kernel.name}"`},
		{"reschedule", func(_ *api.Job, g *api.TaskGroup, _ *api.Task) {
			g.ReschedulePolicy = &api.ReschedulePolicy{Attempts: new(5), Interval: new(time.Minute), Delay: new(30 * time.Second), DelayFunction: new("constant"), Unlimited: new(false)}
		}, `write an interval above 2m30s, or fewer attempts`},
		{"logs.enabled", func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.LogConfig = &api.LogConfig{Enabled: new(false)} }, "write disabled = true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			job := validJob()
			c.edit(job, job.TaskGroups[0], job.TaskGroups[0].Tasks[0])
			job.Canonicalize()
			diagnostics := Job(job, nil)
			if len(diagnostics) != 1 || diagnostics[0].Remedy != c.want {
				t.Errorf("got %+v, want one diagnostic with the remedy %q", diagnostics, c.want)
			}
		})
	}
}

func TestInheritedFaultIsReportedOnceWhereItWasWritten(t *testing.T) {
	t.Parallel()
	job := validJob()
	second := *job.TaskGroups[0]
	second.Name = new("h")
	job.TaskGroups = append(job.TaskGroups, &second)
	job.Update = &api.UpdateStrategy{AutoPromote: new(true)}
	job.Reschedule = &api.ReschedulePolicy{Delay: new(time.Second)}
	job.Migrate = &api.MigrateStrategy{HealthCheck: new("ping")}
	second.Migrate = &api.MigrateStrategy{MaxParallel: new(-1)}
	job.Canonicalize()
	want := []string{
		"error job.reschedule.delay: reschedule delay is too short",
		"error job.update.auto_promote: auto_promote needs canaries",
		"error job.migrate.health_check: unknown health check",
		"error job.group[1].migrate.max_parallel: max_parallel is negative",
	}
	if diff := cmp.Diff(want, outline(Job(job, nil))); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
}

// An API client may send null wherever a block is expected.
func TestNullBlocksAreReported(t *testing.T) {
	t.Parallel()
	job := validJob()
	g := job.TaskGroups[0]
	job.Constraints = []*api.Constraint{nil}
	g.Networks = append(g.Networks, nil)
	g.Volumes = map[string]*api.VolumeRequest{"v": nil}
	g.Tasks[0].Actions = []*api.Action{nil}
	job.Canonicalize()
	want := []string{
		"error job.constraint[0].operator: operator is missing",
		"error job.constraint[0]: constraint has no attribute",
		`warning job.group[0].volume["v"].type: volume has no effect`,
		"warning job.group[0].network[1]: network has no effect",
		"error job.group[0].task[0].action[0]: action has no command",
		"error job.group[0].task[0].action[0]: invalid action name",
	}
	if diff := cmp.Diff(want, outline(Job(job, nil))); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
}

func TestPlainDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                                "0s",
		30 * time.Second:                 "30s",
		time.Minute:                      "1m",
		10 * time.Minute:                 "10m",
		90 * time.Second:                 "1m30s",
		time.Hour:                        "1h",
		20 * time.Hour:                   "20h",
		time.Hour + time.Minute:          "1h1m",
		time.Hour + 10*time.Second:       "1h0m10s",
		-5 * time.Minute:                 "-5m",
		100 * time.Millisecond:           "100ms",
		2*time.Minute + time.Millisecond: "2m0.001s",
	} {
		if got := plain(d); got != want {
			t.Errorf("plain(%d) = %q, want %q", d, got, want)
		}
	}
}

func BenchmarkJob(b *testing.B) {
	job := manyTasks(10_000)
	b.ReportAllocs()
	for b.Loop() {
		if diagnostics := Job(job, nil); len(diagnostics) > 0 {
			b.Fatal(diagnostics.Error())
		}
	}
}

// manyTasks returns a job of 100 groups with n tasks that use a bit of
// everything.
func manyTasks(n int) *api.Job {
	job := validJob()
	job.TaskGroups = nil
	for i := range 100 {
		g := &api.TaskGroup{
			Name:          new(fmt.Sprintf("g%d", i)),
			ShutdownDelay: new(time.Second),
			Networks:      []*api.NetworkResource{{DynamicPorts: []api.Port{{Label: "http"}, {Label: "metrics"}}}},
			Services:      []*api.Service{{Provider: "nomad", PortLabel: "http", Checks: []api.ServiceCheck{{Type: "tcp", Interval: time.Second, Timeout: time.Second}}}},
			Constraints:   []*api.Constraint{{LTarget: "${attr.kernel.name}", Operand: "=", RTarget: "linux"}},
		}
		for j := range n / 100 {
			g.Tasks = append(g.Tasks, &api.Task{
				Name:       fmt.Sprintf("t%d", j),
				Driver:     "raw_exec",
				KillSignal: "SIGTERM",
				Config:     map[string]any{"command": "serve", "args": []any{"--listen", "${NOMAD_ADDR_http}"}},
				Env:        map[string]string{"PORT": "${NOMAD_PORT_http}", "MODE": "test"},
				Templates: []*api.Template{{
					EmbeddedTmpl: new(`addr = {{ env "NOMAD_ADDR_metrics" }}`), DestPath: new("local/conf"), ChangeMode: new("signal"), ChangeSignal: new("SIGHUP"),
				}},
			})
		}
		job.TaskGroups = append(job.TaskGroups, g)
	}
	job.Canonicalize()
	return job
}
