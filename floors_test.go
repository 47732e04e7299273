package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// A floor says what packages in a part of the tree may import from this module.
// Patterns are relative to the module: "a" is that package, "a/*" the folders
// directly below it, "a/..." the whole part, "." the root package.
type floor struct {
	packages string // one pattern
	may      string // patterns, separated by spaces
	tests    string // additional imports of tests, besides the package's own folder and forTests
	why      string
}

// leaves are the parts of the engine that import nothing above them, so that
// hooks and drivers can use them.
const leaves = "engine/leaf/*"

// forTests are what every test may import.
const forTests = "engine/leaf/leaktest engine/leaf/racetest"

// floors is the structure of the program, from top to bottom: cmd → engine →
// {hooks, drivers} → jobspec. The first row that matches a package counts. A
// package that needs a new import adds it here and in .golangci.yml, with a
// reason.
var floors = []floor{
	{".", "cmd", "...", "hands over and exits; its tests see the whole house"},
	{"scripts/differ", "cmd/report/recording cmd/verify jobspec/stub", "", "a tool of its own; what it records, taskrun diff reads, and it starts its agent as verify does"},
	{"scripts/acceptance", "cmd/verify", "", "it starts agents as verify does"},
	{"scripts/bench", "cmd/verify", "", "likewise"},
	{"scripts/manpages", "cmd", "", "a tool of its own; the man pages are those of the commands"},
	{"scripts/...", "", "", "tools are programs of their own"},

	{"cmd/config", "jobspec/syntax jobspec/diagnostic", "", "flags, environment and file become one plain value; config.hcl is read as job files are"},
	{"cmd/agent/settings", "jobspec jobspec/syntax jobspec/diagnostic", "", "pure: configuration files of a Nomad agent in, settings and diagnostics out"},
	{"cmd/agent/resident", "cmd/agent/... cmd/console cmd/exit cmd/garbage cmd/host cmd/lookup cmd/neighbors cmd/preflight cmd/source drivers drivers/process drivers/process/keeper engine engine/httpapi engine/port " + leaves + " hooks/catalog hooks/stubs hooks/taskapi jobspec jobspec/...", "cmd/client cmd/ui drivers/mock", "joins an engine to an agent"},
	{"cmd/agent/*", "", "", "what an agent needs besides jobs: files of service managers, and its log"},
	{"cmd/client", "engine/execwire engine/leaf/event", "", "speaks Nomad's API to whatever serves it, and never imports a server"},
	{"cmd/cluster", "cmd/client engine/health engine/leaf/event", "", "what a cluster says becomes events; the client asks it"},
	{"cmd/verify", "cmd/client cmd/cluster cmd/report/compare cmd/report/scrub cmd/source cmd/verdict drivers/process engine/leaf/event jobspec/redact jobspec/stub jobspec/visible", "", "a Nomad agent, and what a job does there and here, asked through the same API"},
	{"cmd/preflight", "engine/leaf/datadir drivers drivers/catalog hooks hooks/mesh hooks/secrets hooks/template jobspec/...", "", "checks jobs against the contracts and what implements them, and starts nothing"},
	{"cmd/jobfile", "jobspec/...", "", "job files, and the stubs beside them"},
	{"cmd/neighbors", "cmd/client engine/httpapi engine/leaf/service", "", "asks the other runs of a user for their services"},
	{"cmd/watch", "cmd/prose drivers/process engine engine/update jobspec/glob jobspec/stub", "drivers drivers/mock engine/fold hooks/catalog jobspec/taskenv", "files that change and what follows: decided purely, carried out in processes of the run and by its engine"},
	{"cmd/tarball", "", "", "files in tar streams, and out of them; knows no tasks"},
	{"cmd/textfile", "jobspec jobspec/diagnostic", "", "files that are formatted"},
	{"cmd/source", "cmd/client cmd/history cmd/verdict drivers/process/keeper engine engine/httpapi engine/leaf/event engine/leaf/allocdir engine/leaf/tasklog", "", "follows a run: of the engine here, of a run directory and its socket; shows and starts nothing"},
	{"cmd/history", "engine/leaf/event", "", "reads the events that are kept of a run, and knows no directories"},
	{"cmd/record", "cmd/client cmd/history cmd/outcome cmd/source cmd/ui/view engine/fold engine/leaf/allocdir engine/leaf/datadir engine/leaf/event engine/leaf/safedir engine/leaf/tasklog jobspec/redact", "", "reads and writes what is kept of a run; its tasks look like those of a server"},
	{"cmd/rehearse", "cmd/jobfile cmd/preflight drivers drivers/catalog drivers/rehearsal engine/fold engine/leaf/event jobspec", "jobspec/stub", "gives tasks their scripts for a rehearsal, and starts nothing"},
	{"cmd/repeat", "cmd/report/compare cmd/report/scrub engine/leaf/event", "", "runs in processes of their own, and how they ended; starts nothing else"},
	{"cmd/bubble", "", "", "virtual time; knows no runs"},
	{"cmd/console", "cmd/client cmd/exit cmd/jobfile cmd/report cmd/source cmd/ui cmd/ui/answer cmd/verdict jobspec jobspec/report", "", "what commands say to their user, and how a user stops them; knows no runs"},
	{"cmd/lookup", "cmd/client cmd/console cmd/exit cmd/record cmd/source cmd/verdict drivers drivers/process engine/httpapi engine/leaf/datadir engine/leaf/event engine/leaf/runtimedir", "cmd/history cmd/ui cmd/ui/view", "finds runs and tasks, and warns of engines that do not answer; starts and changes nothing"},
	{"cmd/onscreen", "cmd/client cmd/cluster cmd/console cmd/exit cmd/lookup cmd/prose cmd/source cmd/ui/fullscreen cmd/ui/screen cmd/verdict drivers/process/keeper engine/leaf/event", "cmd/ui cmd/ui/terminaltest", "a run on the full screen: what the model shows comes from a source, and its orders go to a server"},
	{"cmd/enginerun", "cmd/bubble cmd/ci cmd/client cmd/console cmd/exit cmd/garbage cmd/host cmd/jobfile cmd/jobtest/play cmd/lookup cmd/neighbors cmd/preflight cmd/record cmd/source cmd/ui/view cmd/verdict drivers drivers/process drivers/process/keeper engine engine/httpapi engine/port " + leaves + " hooks/catalog hooks/stubs hooks/taskapi jobspec/...", "drivers/mock cmd/ui", "joins an engine to a run of jobs; what a user may ask of it, cmd knows"},
	{"cmd/garbage", "", "", "the memory of this process; knows no runs"},
	{"cmd/host", "cmd/lookup cmd/preflight drivers drivers/process/keeper engine engine/httpapi engine/leaf/datadir engine/registry hooks/template jobspec/...", "cmd/client cmd/console cmd/ui", "serves an engine of this process, and decides nothing about its run"},
	{"cmd/ci", "cmd/console cmd/exit cmd/jobfile cmd/report cmd/textfile cmd/ui cmd/ui/view cmd/verdict engine/fold jobspec", "", "writes the texts of cmd/report where a CI system looks for them"},
	{"cmd/exit", "cmd/verdict", "", "errors that know an exit code"},
	{"cmd/verdict", "engine/fold engine/health engine/leaf/event", "", "pure: events, signals and the time in, decisions out"},
	{"cmd/outcome", "cmd/prose engine/fold jobspec/visible", "engine/leaf/event", "pure: the state of a run in, words out, which views and reports share"},
	{"cmd/report", "cmd/outcome cmd/prose engine/fold jobspec jobspec/visible", "engine/leaf/event", "pure: how a run ended in, the text of a report out"},
	{"cmd/ui/screen", "cmd/prose cmd/report/trace cmd/ui cmd/ui/waterfall engine/leaf/event engine/fold jobspec/visible", "", "pure: events, output and keys in, lines and orders out; a pane shows the trace"},
	{"cmd/ui/waterfall", "cmd/prose cmd/report/trace cmd/ui engine/fold", "engine/leaf/event", "pure: a trace in, lines for a terminal out"},
	{"cmd/ui/terminaltest", "", "", "the user of a program in a terminal, for tests"},
	{"cmd/ui/fullscreen", "cmd/ui cmd/ui/screen", "cmd/ui/terminaltest", "the terminal of a full screen: lines out, keys in; knows no runs"},
	{"cmd/ui/*", "cmd/outcome cmd/prose cmd/repeat cmd/report/compare cmd/ui engine/leaf/event engine/fold engine/health jobspec/redact jobspec/visible", "", "a run and the answers of commands, in the words of the streams"},
	{"cmd/ui", "cmd/prose jobspec/visible", "", "streams, colors, tables and objects; knows no runs"},
	{"cmd/prose", "jobspec/visible", "", "pure: values in, words out"},
	{"cmd/report/scrub", "", "", "pure: texts without what differs from run to run"},
	{"cmd/report/compare", "cmd/report/scrub engine/leaf/event", "", "pure: two runs in, their differences out"},
	{"cmd/report/recording", "cmd/report/compare cmd/report/scrub", "", "pure: what a Nomad did with a job, as a file tells it"},
	{"cmd/jobtest/timeline", "cmd/report/scrub engine/leaf/event", "", "pure: events in, lines out"},
	{"cmd/jobtest/worker", "cmd/jobtest/timeline jobspec", "", "processes that play runs; what a run is they do not know"},
	{"cmd/jobtest/scaffold", "engine/fold engine/health jobspec", "", "pure: a job in, the text of a test file out"},
	{"cmd/jobtest/results", "cmd/console cmd/jobtest cmd/jobtest/timeline cmd/jobtest/worker cmd/prose cmd/report cmd/ui jobspec jobspec/visible", "", "results of runs in, lines and suites out; plays nothing"},
	{"cmd/jobtest/snapshot", "cmd/jobtest/timeline cmd/textfile", "", "lines in files beside the tests"},
	{"cmd/jobtest", "engine/fold engine/leaf/event jobspec/...", "drivers/mock", "reads test files, as job files are read; an outcome is the state of a run"},
	{"cmd/jobtest/play", "cmd/bubble cmd/jobfile cmd/jobtest cmd/preflight cmd/rehearse cmd/verdict drivers drivers/process/keeper drivers/rehearsal engine engine/fold engine/health " + leaves + " hooks hooks/catalog hooks/services/check hooks/stubs jobspec/...", "cmd/jobtest/timeline drivers/catalog cmd/report/recording", "joins an engine, its drivers and hooks to a run of a test"},
	{"cmd/jobtest/assert", "cmd/jobtest cmd/jobtest/timeline engine/fold engine/leaf/event jobspec/...", "", "pure: conditions and an outcome in, failures out"},
	{"cmd/report/trace", "engine/fold engine/leaf/event jobspec/visible", "", "pure: events in, spans of time out"},
	{"cmd/report/page", "cmd/report/trace cmd/prose engine/fold jobspec/visible", "engine/leaf/event", "pure: a trace in, a page for a browser or a picture out"},
	{"cmd/*", "engine/leaf/event engine/fold engine/health jobspec jobspec/redact jobspec/visible", "engine hooks/catalog drivers/catalog", "views and reports: events in, bytes out; health has words of its own, and URLs are shown without credentials"},
	{"cmd", "cmd/... engine engine/fold engine/health engine/httpapi engine/port engine/registry engine/update " + leaves + " drivers drivers/catalog drivers/process drivers/process/keeper drivers/rehearsal hooks hooks/catalog hooks/environment hooks/stubs hooks/taskapi hooks/template jobspec/...", "drivers/... hooks/...", "the only place where the parts are joined; the keeper is the program in another role"},

	{"engine/leaf/event", "", "", "what everybody speaks of"},
	{"engine/leaf/chance", "", "", "IDs and random numbers, from a seed or not"},
	{"engine/fold", "engine/leaf/event", "", "pure: events in, the state of a run out"},
	{"engine/execwire", "", "", "messages of sessions, for both ends"},
	{"engine/leaf/datadir", "engine/leaf/allocdir engine/leaf/runtimedir engine/leaf/safedir", "engine/leaf/safedir/dirtest", "the directories of runs, in which those of allocations are"},
	{"engine/leaf/allocdir", "engine/leaf/safedir", "engine/leaf/safedir/dirtest", "directories know no events and no tasks"},
	{"engine/leaf/scratch", "engine/leaf/safedir", "", "directories that do not last"},
	{"engine/leaf/safedir/dirtest", "engine/leaf/safedir", "", "what tests of directories share"},
	{"engine/leaf/leaktest", "", "", "finds what a test leaves open"},
	{"engine/leaf/racetest", "", "", "knows the race detector"},
	{"engine/leaf/safedir", "engine/leaf/runtimedir", "", "knows what is safe in a directory, and not whose it is"},
	{"engine/leaf/forward", "", "", "hands connections on, and knows no tasks"},
	{"engine/leaf/tasklog", "engine/leaf/event", "drivers", "output is announced as events"},
	{"engine/leaf/service", "drivers jobspec/...", "", "the catalog of services; a driver may give a task its address"},
	{"engine/leaf/variable", "", "", "variables in memory; their readers import it"},
	{"engine/leaf/workload", "engine/leaf/chance", "", "who a task is, and the tokens that prove it, with IDs of their own"},
	{"engine/hoststats", "", "", "measures the machine, knows no jobs"},
	{"engine/lifecycle", "", "engine/restart", "pure: values in, decisions out"},
	{"engine/restart", "", "", "pure: values in, decisions out"},
	{"engine/update", "engine/health", "", "pure: versions of a job and the health of what runs in, decisions out"},
	{"engine/port", "engine/leaf/runtimedir", "", "ports of this machine; runs share their claims in the runtime directory"},
	{"engine/leaf/runtimedir", "", "", "where the runs of a user meet"},
	{"engine/health", "engine/lifecycle", "", "pure: values in, decisions out"},
	{"engine/store", leaves + " drivers jobspec/...", "", "keeps what recovery needs, runs nothing"},
	{"engine/registry", leaves + " engine/fold engine/store", "", "what an agent knows besides its jobs: stored, published, and nothing decided"},
	{"engine/runner", leaves + " engine/lifecycle engine/restart engine/health engine/store drivers hooks jobspec/...", "drivers/... hooks/...", "knows drivers and hooks by their contracts"},
	{"engine/grant", "engine/port engine/runner engine/update drivers jobspec/...", "engine/leaf/event", "what an allocation is given of the machine; starts nothing"},
	{"engine/httpapi/rest", "", "", "the ground of the API: requests and answers, no jobs"},
	{"engine/httpapi/feed", "", "", "the latest lines of the event stream"},
	{"engine/httpapi/tracker", "engine engine/fold engine/registry engine/leaf/event engine/httpapi/feed", "", "what the engine's state tells, and the event stream"},
	{"engine/httpapi/render", "engine engine/fold engine/port engine/registry engine/leaf/* engine/httpapi/rest engine/httpapi/tracker jobspec/taskenv", "drivers", "what the engine has, in the words of Nomad's API"},
	{"engine/httpapi/sessions", "engine drivers engine/execwire engine/httpapi/rest engine/httpapi/render", "", "translates the messages of sessions into the streams of drivers"},
	{"engine/httpapi/volumes", "engine " + leaves + " engine/httpapi/rest engine/httpapi/render engine/httpapi/tracker jobspec/placement", "", "a resource of the API; a volume has constraints as a job has"},
	{"engine/httpapi/*", "engine engine/fold engine/hoststats engine/registry engine/update " + leaves + " engine/httpapi/rest engine/httpapi/feed engine/httpapi/tracker engine/httpapi/render jobspec", "drivers drivers/... hooks/... jobspec/...", "a resource of the API: sees the façade, and no other resource"},
	{"engine/httpapi", "engine engine/fold engine/registry engine/httpapi/... " + leaves + " jobspec/...", "drivers drivers/... hooks/...", "the server: who is let in, and which resource serves a path"},
	{"engine", leaves + " engine/fold engine/registry engine/lifecycle engine/restart engine/health engine/update engine/port engine/grant engine/store engine/runner drivers hooks jobspec/...", "drivers/... hooks/...", "the façade; never a catalog"},

	{"hooks/catalog", "hooks/... drivers jobspec/stub " + leaves, "jobspec/taskenv", "the list of hooks, and what they share"},
	{"hooks/artifact", "hooks hooks/artifact/unpack drivers jobspec/... " + leaves, "", "an implementation; archives are a matter of their own"},
	{"hooks/artifact/unpack", "engine/leaf/event", "", "archives know no tasks; sizes are written as events write them"},
	{"hooks/reach", "hooks hooks/network drivers jobspec/... " + leaves, "", "an implementation; groups with networks of their own are known there"},
	{"hooks/services", "hooks hooks/services/check drivers jobspec/... " + leaves, "", "an implementation; probes are a matter of their own"},
	{"hooks/services/check", "drivers", "", "probes: they ask, and decide nothing but what was answered"},
	{"hooks/*", "hooks drivers jobspec/... " + leaves, "", "an implementation: its contract and the leaves"},
	{"hooks", "drivers engine/leaf/allocdir engine/leaf/chance engine/leaf/event jobspec/...", "", "a contract; mounts, devices and networks are words of drivers, and directories are reached through descriptors"},

	{"drivers/catalog", "drivers/... jobspec/...", "", "the list of drivers"},
	{"drivers/drivertest", "drivers jobspec/... " + leaves, "", "the suite each driver must pass"},
	{"drivers/process/keeper/early", "", "", "comes before all other packages, so it can import next to none"},
	{"drivers/process/keeper", "drivers/process drivers/process/keeper/early " + leaves, "", "cleans up after a run: its processes, and its directories"},
	{"drivers/process", "drivers " + leaves, "", "processes, for the drivers that start some"},
	{"drivers/taskstore", "drivers", "", "the tasks of a driver by ID"},
	{"drivers/eventer", "drivers", "", "what a driver says of its tasks, to everybody"},
	{"drivers/procstats", "drivers", "", "what processes use"},
	{"drivers/cgroup", "", "", "control groups know no drivers"},
	{"drivers/bare", "drivers drivers/rawexec drivers/schema jobspec/taskenv", "", "raw_exec under other names: what exec and java share"},
	{"drivers/exec", "drivers drivers/bare drivers/rawexec", "drivers/drivertest", "an implementation, of raw_exec's parts"},
	{"drivers/rehearsal", "drivers drivers/mock", "", "mock_driver in the role of another one"},
	{"drivers/java", "drivers drivers/bare drivers/rawexec", "drivers/drivertest", "an implementation, of raw_exec's parts"},
	{"drivers/schema", "", "", "words in which drivers describe their config block"},
	{"drivers/docker/dockertest", "", "", "what tests need of a Docker engine"},
	{"drivers/docker/daemon", "drivers", "", "where an engine is and what its errors mean; knows no tasks"},
	{"drivers/docker/settings", "drivers drivers/docker/daemon jobspec/... " + leaves, "drivers/drivertest drivers/schema", "pure: options and config blocks in, containers out; talks to no engine"},
	{"drivers/docker/image", "drivers drivers/docker/daemon drivers/docker/settings drivers/eventer " + leaves, "", "images, from registries and archives"},
	{"drivers/docker", "drivers drivers/docker/... drivers/schema drivers/taskstore drivers/eventer jobspec/... " + leaves, "drivers/drivertest", "an implementation: tasks are containers"},
	{"drivers/podman", "drivers drivers/docker drivers/docker/daemon drivers/docker/settings drivers/schema jobspec/...", "drivers/docker/dockertest drivers/drivertest", "an implementation: options of its own for the containers of docker"},
	{"drivers/*", "drivers drivers/schema drivers/process drivers/procstats drivers/cgroup drivers/taskstore drivers/eventer jobspec/... " + leaves, "drivers/drivertest drivers/docker/dockertest", "an implementation: its contract and the leaves"},
	{"drivers", "jobspec/...", "", "a contract; knows nothing of hooks"},

	{"jobspec/...", "jobspec/...", "", "the ground: describes jobs, runs nothing"},
}

// A home names the parts of the tree that may import a foreign library.
type home struct {
	library string // import path of the module or package
	in      string // patterns, separated by spaces
	tests   string // patterns of packages where only tests may
	why     string
}

// homes lists every foreign library, and those of the standard library that are not
// for everybody. The longest match counts; a foreign library without a row fails the
// test, for a new one needs a reason and a home.
var homes = []home{
	{"testing", "cmd/bubble cmd/ui/terminaltest drivers/drivertest drivers/docker/dockertest engine/leaf/safedir/dirtest " + forTests, "...", "virtual time needs a test to run in; and what tests share"},

	{"github.com/hashicorp/nomad/api", "cmd/... engine/... hooks/... drivers/... jobspec/... scripts/crash scripts/differ", ".", "the model of a job, everywhere; recorded actions and random orders go through its client"},

	{"github.com/spf13/cobra", "cmd", "scripts/manpages", "the command tree"},
	{"github.com/spf13/cobra/doc", "scripts/manpages", "", "man pages; its initialization would cost every command"},
	{"github.com/spf13/pflag", "cmd cmd/config cmd/lookup", "cmd/onscreen scripts/manpages", "cobra's flags, which viper reads; some say where to look"},
	{"github.com/spf13/viper", "cmd/config", "", "flags, environment and file"},
	{"github.com/fatih/color", "cmd/ui", "", "color belongs to a stream"},
	{"golang.org/x/term", "cmd/ui", "", "what a stream is"},
	{"github.com/gdamore/tcell/v2", "cmd/ui/fullscreen", "", "full screens: keys, the mouse, and what has changed since the last picture"},

	{"github.com/creack/pty", "drivers/... cmd/ui/terminaltest", "cmd/...", "where processes are made; tests need a terminal to look at"},
	{"github.com/ryanuber/go-glob", "drivers/rawexec", "", "names of denied variables, as Nomad matches them"},
	{"github.com/shirou/gopsutil/v4", "drivers/procstats", "", "what processes use, on macOS; Linux tells it in two small files, with what the library leaves out, and saves its initialization"},
	{"golang.org/x/sys", "cmd/... engine/... drivers/... hooks/artifact jobspec/taskenv", "", "what package syscall lacks"},

	{"github.com/moby/moby", "drivers/docker/... drivers/podman", "", "the Docker engine's API"},
	{"github.com/opencontainers/image-spec", "drivers/docker/...", "", "platforms of images, as that API has them"},
	{"github.com/containerd/errdefs", "drivers/docker/...", "", "the kinds of errors of that API"},
	{"github.com/distribution/reference", "drivers/docker/...", "", "names of images, as that API's client takes them apart"},
	{"github.com/docker/go-connections", "drivers/docker/...", "", "certificates of engines, as that API's client reads them"},
	{"github.com/docker/go-units", "drivers/docker/...", "", "ulimits, as that API has them"},

	{"github.com/gorilla/websocket", "engine/httpapi/sessions cmd/client", "engine/httpapi", "sessions of commands, as Nomad's client speaks them, and faster with an engine of this machine"},

	{"github.com/fsnotify/fsnotify", "cmd/neighbors cmd/watch engine/httpapi/files", "", "runs that begin, files of users, and files of tasks that clients follow; viper has it in already"},
	{"github.com/hashicorp/go-hclog", "engine/httpapi/node", "", "the log of an agent, as Nomad writes its own"},
	{"github.com/hashicorp/go-bexpr", "engine/httpapi/rest", "", "the language of Nomad's filters"},

	{"github.com/hashicorp/hcl/v2/hcldec", "jobspec/... drivers/... engine/runner cmd/config", "cmd/jobtest", "drivers declare the schemas of their config block and of their options, the runner and the config file decode by them"},
	{"github.com/hashicorp/hcl/v2", "jobspec/... drivers/... cmd/agent/settings cmd/config cmd/jobtest cmd/jobtest/assert cmd/jobtest/play", "", "the language of job files, of their tests, and of config files"},
	{"github.com/zclconf/go-cty", "jobspec/... drivers/... engine/runner cmd/agent/settings cmd/config cmd/jobtest cmd/jobtest/assert cmd/jobtest/play", "", "values of that language, such as a task's decoded config"},
	{"github.com/zclconf/go-cty-yaml", "jobspec/...", "", "functions of job files"},
	{"github.com/hashicorp/go-cty-funcs", "jobspec/...", "", "functions of job files"},
	{"golang.org/x/crypto/bcrypt", "jobspec/...", "", "functions of job files"},
	{"github.com/charmbracelet/x/ansi", "jobspec/report cmd/prose cmd/ui cmd/ui/*", "", "how wide text is and where it may be cut; escape sequences"},
	{"github.com/agext/levenshtein", "jobspec/... cmd/client", "", "did you mean"},
	{"github.com/hashicorp/consul-template", "hooks/template", "", "the language of templates, and what its functions ask"},
	{"github.com/Masterminds/sprig/v3", "hooks/template", "", "functions of consul-template that run only once the size of their result is known"},
	{"github.com/davecgh/go-spew", "hooks/template", "", "two more such functions"},
	{"github.com/hashicorp/consul/api", "hooks/template", "", "types in which consul-template's functions want their answers"},
	{"github.com/hashicorp/go-envparse", "hooks/template", "", "the files of templates with env = true"},

	{"github.com/go-jose/go-jose/v4", "engine/leaf/workload", "", "tokens of workload identities; Consul's client has it in already"},

	{"github.com/hashicorp/cronexpr", "jobspec/...", "", "the grammar of periodic"},
	{"github.com/hashicorp/go-version", "jobspec/...", "", "the grammar of version constraints"},

	{"github.com/hashicorp/go-getter/v2", "hooks/artifact", "", "downloads, checksums, and how sources are spelled"},
	{"github.com/klauspost/compress", "hooks/artifact/unpack", "", "zst, which the standard library cannot read; go-getter has it in already"},
	{"github.com/ulikunitz/xz", "hooks/artifact/unpack", "", "xz, likewise"},

	{"go.uber.org/goleak", "", "...", "no goroutine outlives its test"},
	{"golang.org/x/net/html", "", "cmd/report/page", "what a browser makes of a page"},
	{"github.com/google/go-cmp", "", "...", "differences that can be read"},
	{"github.com/rogpeppe/go-internal", "", "...", "journeys as scripts"},
	{"github.com/rogpeppe/go-internal/diff", "cmd cmd/jobtest/snapshot cmd/ui/answer", "...", "what fmt would change, and how texts of runs and snapshots differ"},
	{"golang.org/x/tools/txtar", "", "...", "many small files in one"},
	{"golang.org/x/tools/go/packages", "scripts/typecheck", "", "the types of a module on another platform, without compiling it"},
}

func TestImportsGoDownOnly(t *testing.T) {
	t.Parallel()
	files := goFiles(t)
	if len(files) == 0 {
		t.Fatal("found no Go file")
	}
	for _, f := range files {
		for _, imported := range f.imports {
			if why := forbidden(f.pkg, f.test, imported); why != "" {
				t.Errorf("%s: %s", f.name, why)
			}
		}
		for _, pos := range f.defaultConfig {
			t.Errorf("%s: api.DefaultConfig takes address, token and namespace from the shell: fill an api.Config", pos)
		}
	}
}

// Every command pays for package initialization, and up pays twice, because its
// keeper is the same program.
func TestPackagesCompileNoRegexps(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if f.test || matches("scripts/...", f.pkg) {
			continue
		}
		for _, pos := range f.regexps {
			t.Errorf("%s: compile it when it is first used, with sync.OnceValue", pos)
		}
	}
}

func TestPackageRegexpsAreFound(t *testing.T) {
	t.Parallel()
	const text = `package p
import "regexp"
var one = regexp.MustCompile("a")
var two = []any{regexp.MustCompilePOSIX("b")}
var later = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("c") })
func f() { regexp.MustCompile("d") }
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := packageRegexps(fset, file); !slices.Equal(got, []string{"p.go:3:11", "p.go:4:17"}) {
		t.Errorf("found %v", got)
	}
}

func TestImportRulesRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pkg, imported string
		test, want    bool
	}{
		{".", "taskrun/cmd", false, true},
		{".", "taskrun/engine", false, false},
		{"cmd", "taskrun/drivers/catalog", false, true},
		{"cmd", "taskrun/engine/runner", false, false},
		{"cmd/ui", "taskrun/engine", false, false},
		{"engine", "taskrun/drivers/catalog", false, false},
		{"engine", "taskrun/drivers/catalog", true, true},
		{"engine/leaf/event", "taskrun/hooks", false, false},
		{"hooks", "taskrun/drivers", false, true},
		{"drivers", "taskrun/hooks", false, false},
		{"drivers/mock", "taskrun/drivers/rawexec", false, false},
		{"jobspec", "taskrun/engine/leaf/event", false, false},
		{"newfolder", "taskrun/jobspec", false, false},
		{"engine", "github.com/spf13/viper", false, false},
		{"cmd/config", "github.com/spf13/viper", false, true},
		{"cmd", "go.uber.org/goleak", false, false},
		{"cmd", "go.uber.org/goleak", true, true},
		{"cmd", "example.com/new", false, false},
		{"jobspec", "go/ast", false, true},
		{"engine", "testing", false, false},
		{"engine", "testing", true, true},
		{"engine", "testing/synctest", false, false},
		{"cmd/bubble", "testing/synctest", false, true},
	} {
		if got := forbidden(c.pkg, c.test, c.imported) == ""; got != c.want {
			t.Errorf("%s imports %s (test file: %v): allowed %v, want %v", c.pkg, c.imported, c.test, got, c.want)
		}
	}
}

// forbidden explains why a file of a package (relative to the module) must not
// import another package, or returns "".
func forbidden(pkg string, test bool, imported string) string {
	if imported == "taskrun" || strings.HasPrefix(imported, "taskrun/") {
		return forbiddenArrow(pkg, test, strings.TrimPrefix(imported, "taskrun/"))
	}
	best := -1
	for i, h := range homes {
		if matches(h.library+"/...", imported) && (best < 0 || len(h.library) > len(homes[best].library)) {
			best = i
		}
	}
	first, _, _ := strings.Cut(imported, "/")
	switch standard := !strings.Contains(first, "."); {
	case best < 0 && standard:
		return ""
	case best < 0:
		return fmt.Sprintf("%s has no home: give it a row in homes, with a reason", imported)
	}
	h := homes[best]
	if matches(h.in, pkg) || test && matches(h.tests, pkg) {
		return ""
	}
	return fmt.Sprintf("%s must not import %s, whose home is %q (%s)", pkg, imported, h.in, h.why)
}

func forbiddenArrow(pkg string, test bool, imported string) string {
	i := slices.IndexFunc(floors, func(f floor) bool { return matches(f.packages, pkg) })
	if i < 0 {
		return fmt.Sprintf("%s stands on no floor: give it a row in floors, with a reason", pkg)
	}
	f := floors[i]
	if matches(f.may, imported) || test && (imported == pkg || matches(forTests, imported) || matches(f.tests, imported)) {
		return ""
	}
	return fmt.Sprintf("%s must not import %s; %s: %s", pkg, imported, f.packages, f.why)
}

// matches reports whether one of the patterns, separated by spaces, matches.
func matches(patterns, pkg string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(p string) bool {
		switch part, all := strings.CutSuffix(p, "..."); {
		case !all:
			ok, err := path.Match(p, pkg)
			return ok && err == nil
		case part == "":
			return true
		default:
			return strings.HasPrefix(pkg+"/", part)
		}
	})
}
