package preflight

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/catalog"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// entryNames are the entry points in the order of their bits.
var entryNames = []string{
	"validate", "strict", "up", "rehearse", "plan", "update", "cluster", "register", "api plan", "api validate", "dispatch",
}

// caseOf returns a case with jobs, each in a file, and usable drivers.
func caseOf(t *testing.T, entry Entry, stubs string, jobs ...string) *Case {
	t.Helper()
	world, diagnostics := stub.Parse("taskrun.hcl", []byte(stubs))
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	c := &Case{Entry: entry, Stubs: world, Drivers: catalog.New(), DataDir: "/data", MaxAllocs: 3}
	c.Health = NewHealth(c.Drivers)
	for name := range c.Drivers { // regardless of this machine
		c.Health.known[name] = drivers.Fingerprint{Health: drivers.HealthHealthy}
	}
	for i, text := range jobs {
		name := fmt.Sprintf("%d.nomad.hcl", i)
		file, diagnostics := jobspec.Parse(jobspec.Source{Name: name, Text: []byte(text)}, jobspec.Options{})
		if diagnostics.HasErrors() {
			t.Fatal(diagnostics)
		}
		c.Files = append(c.Files, File{File: file, Job: file.Job, Name: name})
	}
	return c
}

// job returns the text of a job with additional text in its group.
func job(task, group string) string {
	return fmt.Sprintf("job \"j\" {\n  group \"g\" {\n%s\n    task \"t\" {\n%s\n    }\n  }\n}\n", group, task)
}

const (
	plain  = "driver = \"raw_exec\"\nconfig {\n  command = \"/bin/true\"\n}\n"
	docker = "driver = \"docker\"\nconfig {\n  image = \"alpine:3\"\n  volumes = [\"/etc/hosts:/h\", \"/etc:/e\", \"local/x:/x\"]\n}\n"
)

// TestEntryPointsOfEachCheck checks each kind of error and difference from
// Nomad at all entry points: some refuse it, some warn, others ignore it.
func TestEntryPointsOfEachCheck(t *testing.T) {
	t.Parallel()
	unusable := func(c *Case) {
		c.Health.known["raw_exec"] = drivers.Fingerprint{Health: drivers.HealthUnhealthy, HealthDescription: "no shell"}
	}
	const (
		all      = Dispatch<<1 - 1
		lookOnly = Validate | Strict | Plan | Update
		host     = "volume \"v\" {\n  type   = \"host\"\n  source = \"v\"\n}\n"
		mount    = "volume_mount {\n  volume      = \"v\"\n  destination = \"/v\"\n}\n"
	)
	for _, row := range []struct {
		name                   string
		job, other             string
		stubs                  string
		with                   func(*Case)
		says                   string // part of the summary
		errors, warnings, told Entry
		needsStubs             bool // not reported if the stubs are broken
	}{
		{name: "rule of Nomad", job: job(plain, "count = -1"), says: "count is negative", errors: jobs | Cluster},
		{name: "allocations", job: job(plain, "count = 4"), says: "job has too many allocations", errors: jobs | Cluster},
		{
			name: "allocations of another program", job: job(plain, "count = 4"), with: func(c *Case) { c.MaxAllocs = 0 },
			says: "allocations",
		},
		{name: "twins", job: job(plain, ""), other: job(plain, ""), says: `job "j" is also in another file`, errors: files | Cluster},
		{
			name: "stub of another task", job: job(plain, ""), stubs: `task "j/g/other" {}`,
			says: `there is no task "j/g/other"`, errors: files, needsStubs: true,
		},
		{
			name: "stub of another job", job: job(plain, ""), stubs: `task "elsewhere/g/other" {}`,
			says: `there is no task`,
		},
		{
			name: "stub of a task in another group", job: job(plain, ""), stubs: `task "j/other" {}`, // of any job
			says: `there is no task`,
		},
		{
			name: "stub with a slip", job: strings.Replace(job(plain, ""), `"t"`, `"server"`, 1), stubs: `task "servr" {}`,
			says: `there is no task "servr"`, warnings: files, needsStubs: true,
		},

		{
			name: "driver that there is not", job: job(`driver = "starship"`, ""),
			says: `there is no driver "starship"`, errors: jobs &^ lookOnly, warnings: lookOnly,
		},
		{name: "driver with a slip", job: job(`driver = "raw_exce"`, ""), says: `there is no driver "raw_exce"`, errors: jobs},
		{
			name: "driver of Nomad", job: job(`driver = "nspawn"`, ""),
			says: `taskrun does not have Nomad's driver "nspawn"`, errors: jobs &^ lookOnly, warnings: Strict,
		},
		{name: "config", job: job("driver = \"raw_exec\"\nconfig {}", ""), says: `"command"`, errors: jobs},
		{
			name: "driver that is replaced", job: job(docker, ""), with: func(c *Case) { c.Instead = map[string]string{"docker": "mock_driver"} },
			says: `task "t" of driver "docker" starts nothing: with mock_driver it runs until it is stopped`, told: jobs,
		},
		{
			name: "driver that is replaced, with options of mock_driver", job: job("driver = \"starship\"\nconfig {\n  run_for = \"5s\"\n}", ""),
			with: func(c *Case) { c.Instead = map[string]string{"starship": "mock_driver"} },
			says: `task "t" of driver "starship" starts nothing: with mock_driver it follows its config block`, told: jobs,
		},
		{
			name: "driver that cannot be used", job: job(plain, ""), with: unusable,
			says: `driver "raw_exec" cannot be used on this machine`, errors: runs | Dispatch, needsStubs: true,
		},
		{name: "gap", job: job(plain+"scaling \"cpu\" {\n  max = 100\n}", ""), says: `"scaling" blocks`, warnings: notices &^ Rehearse},
		{
			name: "network", job: job(plain, "network {\n  mode = \"bridge\"\n}"),
			says: "there is no network of the group's own", warnings: notices &^ Rehearse,
		},
		{
			name: "volume", job: job(plain+mount, host),
			says: `host volume "v" is not set: no stub defines it`, errors: Rehearse, warnings: notices &^ Rehearse, needsStubs: true,
		},
		{
			name: "volume of a stub", job: job(plain+mount, host), stubs: "host_volume \"v\" {\n  path = \"/v\"\n}",
			says: "host volume",
		},
		{
			name: "volume of an engine", job: job(plain+mount, host),
			with: func(c *Case) { c.HostVolume = func(source string) bool { return source == "v" } }, says: "host volume",
		},
		{
			name: "volume that no task mounts", job: job(plain, host),
			says: "host volume",
		},
		{
			name: "links in place of mounts", job: job(plain+mount, host),
			says: "raw_exec can mount nothing", warnings: notices &^ Rehearse, needsStubs: true,
		},
		{
			name: "paths of this machine", job: job(docker, ""),
			says: "tasks do not get paths of this machine: /etc/hosts, /etc", warnings: notices,
		},
		{
			name: "paths of this machine that are mounted", job: job(docker, ""), with: func(c *Case) { c.HostPaths = true },
			says: "paths of this machine",
		},
		{
			name: "isolation", job: strings.Replace(job(plain, ""), "raw_exec", "exec", 1),
			says: `"exec" tasks are not isolated`, warnings: notices,
		},
		{
			name: "task of another user", job: job(plain+"user = \"root\"", ""),
			says: `only root can start it as user "root"`, warnings: map[bool]Entry{false: notices}[os.Geteuid() == 0],
		},
		{name: "task of an unknown user", job: job(plain+"user = \"no-such-user\"", ""), says: "only root"},
		{name: "isolation that none asked for", job: job(plain, ""), says: "not isolated"},
		{
			name: "option of the config file", job: job(plain, ""), with: func(c *Case) {
				c.Unheeded = map[string][]Unheeded{"raw_exec": {{drivers.Unheeded{Option: "no_cgroups", Instead: "none is used"}, "config.hcl:3"}}}
			},
			says: `config.hcl:3: option no_cgroups of driver "raw_exec" has no effect`, warnings: notices &^ ofAPI,
		},
		{
			name: "option of a driver that no task has", job: job(plain, ""), with: func(c *Case) {
				c.Unheeded = map[string][]Unheeded{"docker": {{drivers.Unheeded{Option: "gc"}, "config.hcl:7"}}}
			},
			says: "has no effect",
		},
		{
			name: "download", job: job(plain+"artifact {\n  source = \"s3::https://s3.amazonaws.com/bucket/key\"\n}", ""),
			says: "artifacts from s3 are not supported here", errors: jobs &^ Rehearse,
		},

		{
			name: "syntax of a template", job: job(plain+withTemplate("{{ if }}"), ""),
			says: `template "local/x" of task "t" cannot be parsed`, errors: jobs,
		},
		{
			name: "constraint", job: job(plain+withConstraint("${attr.kernel.name}"), ""),
			says: "this machine fails the constraint", warnings: runs | Update, needsStubs: true,
		},
		{
			name: "constraint that is not known", job: job(plain+withConstraint("${meta.rack}"), ""),
			says: `needs "${meta.rack}", which is not set: no stub defines it`, errors: Rehearse, needsStubs: true,
		},
		{
			name: "constraint of a stub", job: job(plain+withConstraint("${meta.rack}"), ""), stubs: "node {\n  meta = { rack = \"here\" }\n}",
			says: "constraint",
		},
		{
			name: "static port", job: job(plain, "count = 2\nnetwork {\n  port \"p\" {\n    static = 8080\n  }\n}"),
			says: "2 allocations cannot all have static port 8080", errors: jobs &^ Rehearse,
		},
		{
			name: "memory_max", job: job(plain+"resources {\n  memory     = 10\n  memory_max = 20\n}", ""),
			says: "memory_max value will be ignored", warnings: notices,
		},
		{
			name: "memory_max that counts", job: job(plain+"resources {\n  memory     = 10\n  memory_max = 20\n}", ""), with: func(c *Case) { c.MemoryMax = true },
			says: "memory_max",
		},
		{
			name: "secret", job: job(plain+"secret \"s\" {\n  provider = \"nomad\"\n  path     = \"a/b\"\n}", ""),
			says: `secret "s" of task "t" is`, errors: jobs | Dispatch, needsStubs: true,
		},
		{
			name: "key of a template", job: job(plain+withTemplate(`{{ key "a/b" }}`), ""),
			says: `"a/b", which is not set: no stub defines it`, errors: jobs | Dispatch, needsStubs: true,
		},
		{
			name: "service of a template", job: job(plain+withTemplate(`{{ range service "db" }}{{ .Address }}{{ end }}`), ""),
			says: `needs service "db", which is not running here: no stub defines it`, errors: Rehearse,
			warnings: (jobs | Dispatch) &^ (Rehearse | Validate | Plan | APIValidate), needsStubs: true,
		},
		{
			name: "service of the job in a template", says: "needs service",
			job: job(plain+withTemplate(`{{ range service "db" }}{{ .Address }}{{ end }}`), "service {\n  name     = \"db\"\n  provider = \"nomad\"\n}"),
		},
		{
			name: "sibling", job: job(plain+"env {\n  A = \"x\"\n  B = \"${A}\"\n}", ""),
			says: `task "t": `, warnings: jobs,
		},
		{
			name: "memory limit", job: job("driver = \"mock_driver\"\nconfig {\n  run_for = \"1s\"\n}\n", ""),
			with: func(c *Case) { c.EnforceMemory = true },
			says: "memory limits of mock_driver tasks are not enforced", warnings: Up | Rehearse,
		},
		{
			name: "memory limit that is not enforced", job: job("driver = \"mock_driver\"\nconfig {\n  run_for = \"1s\"\n}\n", ""),
			says: "memory limits",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			texts := []string{row.job}
			if row.other != "" {
				texts = append(texts, row.other)
			}
			for i, name := range entryNames {
				for _, broken := range []bool{false, true} {
					entry := Entry(1) << i
					c := caseOf(t, entry, row.stubs, texts...)
					c.StubsBroken = broken
					if row.with != nil {
						row.with(c)
					}
					if entry == Dispatch { // for a running job
						for _, f := range c.Files {
							f.Job.Canonicalize()
							jobspec.Register(f.Job)
						}
					}
					c.Prepare()
					c.began = time.Now().Add(time.Hour) // no time limit for templates
					var got []string
					for _, p := range c.Check() {
						if strings.Contains(p.Summary, row.says) {
							got = append(got, p.Severity.String())
						}
					}
					var want []string
					switch {
					case broken && row.needsStubs:
					case row.errors&entry != 0:
						want = []string{jobspec.Error.String()}
					case row.warnings&entry != 0:
						want = []string{jobspec.Warning.String()}
					case row.told&entry != 0:
						want = []string{jobspec.Notice.String()}
					}
					if !slices.Equal(got, want) {
						t.Errorf("%s, stubs broken %t: %q, want %q of %v", name, broken, got, want, c.Check())
					}
				}
			}
		})
	}
	if 1<<len(entryNames)-1 != all {
		t.Errorf("there are %d entry points", len(entryNames))
	}
}

func withTemplate(text string) string {
	return fmt.Sprintf("template {\n  destination = \"local/x\"\n  data = %q\n}\n", strings.ReplaceAll(text, "${", "$${"))
}

func withConstraint(attribute string) string {
	return fmt.Sprintf("constraint {\n  attribute = %q\n  value     = \"here\"\n}\n", attribute)
}

// TestUnreadableJobs are not checked further, and no stub is reported as
// unused.
func TestUnreadableJobs(t *testing.T) {
	t.Parallel()
	for i, name := range entryNames {
		c := caseOf(t, 1<<i, `task "j/g/other" {}`)
		c.Files = []File{{Name: "broken.nomad.hcl"}}
		c.EnforceMemory = true
		c.Prepare()
		if found := c.Check(); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// TestPlaceOfHostPaths checks that it is the place of the first path.
func TestPlaceOfHostPaths(t *testing.T) {
	t.Parallel()
	later := strings.Replace(docker, "/etc:/e", "/usr:/u", 1)
	text := fmt.Sprintf("job \"j\" {\n  group \"g\" {\n    task \"a\" {\n%s\n    }\n    task \"b\" {\n%s\n    }\n    task \"c\" {\n%s\n    }\n  }\n}\n", plain, docker, later)
	c := caseOf(t, Up, "", text)
	found := hostPaths(c, c.Files[0])
	if len(found) != 1 {
		t.Fatalf("found %v", found)
	}
	if got := fmt.Sprint(found[0].Path); !strings.Contains(got, "task[1].config.volumes") {
		t.Errorf("it is at %s", got)
	}
	if want := "/etc/hosts, /etc, /usr"; !strings.HasSuffix(found[0].Summary, want) {
		t.Errorf("%q does not end with %q", found[0].Summary, want)
	}
}

// TestInstead names the replacement of host paths, and those without any:
// sockets and devices.
func TestInstead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, fifo, missing := filepath.Join(dir, "file"), filepath.Join(dir, "fifo"), filepath.Join(dir, "missing")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	const folders = "folders in /data/host are used instead, with copies of the files; they are kept between runs"
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{dir, file, missing}, folders},
		{[]string{fifo}, folders + "; nothing does for " + fifo},
		{[]string{"/dev/null", dir, fifo}, folders + "; nothing does for /dev/null, " + fifo},
	} {
		if got := instead(c.paths, "/data"); got != c.want {
			t.Errorf("%q: %q, want %q", c.paths, got, c.want)
		}
	}
}

// TestSlowTemplates are not checked before their tasks start.
func TestSlowTemplates(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{{ if }}", `{{ key "a/b" }}`} {
		c := caseOf(t, Up, "", job(plain+withTemplate(text), ""))
		c.Prepare()
		c.began = time.Now().Add(-templatesTime)
		if found := c.Check(); len(found) > 0 {
			t.Errorf("%s: %v", text, found)
		}
	}
}

// TestPlaceOfATemplate is the wrong line of a heredoc, or the place of the text
// and a line number.
func TestPlaceOfATemplate(t *testing.T) {
	t.Parallel()
	heredoc := func(begin, text string) string {
		return job(plain+"template {\n  destination = \"local/x\"\n  data = <<"+begin+"\n"+text+"\nEOT\n}\n", "")
	}
	for _, c := range []struct{ job, text, detail string }{
		{heredoc("EOT", "one\n  {{ if }}\nthree"), "{{ if }}", ""},
		{heredoc("-EOT", "\t{{ end }}"), "{{ end }}", ""},
		{job(plain+withTemplate("{{ if }}"), ""), `"{{ if }}"`, ""},
		{job(plain+withTemplate("one\n{{ if }}"), ""), `"one\n{{ if }}"`, "in line 2 of its text"},
	} {
		cs := caseOf(t, Up, "", c.job)
		cs.Prepare()
		cs.began = time.Now().Add(time.Hour)
		found := cs.Check()
		if len(found) != 1 {
			t.Errorf("%s: %v", c.text, found)
			continue
		}
		at := found[0].Range
		if got := c.job[at.Start.Byte:at.End.Byte]; got != c.text || found[0].Detail != c.detail {
			t.Errorf("it is at %q, %q, want %q, %q", got, found[0].Detail, c.text, c.detail)
		}
		if line := strings.Count(c.job[:at.Start.Byte], "\n") + 1; at.Start.Line != line || at.End.Line != line {
			t.Errorf("%q is in line %d, not in %d to %d", c.text, line, at.Start.Line, at.End.Line)
		}
		column := at.Start.Byte - strings.LastIndexByte(c.job[:at.Start.Byte], '\n')
		if at.Start.Column != column || at.End.Column != column+len(c.text) {
			t.Errorf("%q begins in column %d, not in %d, to %d", c.text, column, at.Start.Column, at.End.Column)
		}
	}
}
