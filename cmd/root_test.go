package cmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskrun/cmd/config"
	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/drivers"
	"taskrun/drivers/mock"
)

// samples has three values of each option: for the file, the environment and
// the command line, in the form in which the flag shows them.
var samples = map[string][3]string{
	"address":           {"http://file", "http://env", "http://flag"},
	"agent":             {"true", "false", "true"},
	"all":               {"true", "false", "true"},
	"allow-host":        {"[file]", "[env]", "[flag]"},
	"ca-cert":           {"/file", "/env", "/flag"},
	"ca-path":           {"/file", "/env", "/flag"},
	"canonical":         {"true", "false", "true"},
	"check":             {"true", "false", "true"},
	"client-cert":       {"/file", "/env", "/flag"},
	"client-key":        {"/file", "/env", "/flag"},
	"color":             {"always", "never", "auto"},
	"data-dir":          {"/file", "/env", "/flag"},
	"diff":              {"true", "false", "true"},
	"driver":            {"[a=file]", "[b=env]", "[c=flag]"},
	"enforce-memory":    {"true", "false", "true"},
	"hints":             {"true", "false", "true"},
	"host-paths":        {"true", "false", "true"},
	"environment":       {"true", "false", "true"},
	"escape":            {"x", "none", "~"},
	"exit-code-from":    {"file", "env", "flag"},
	"factor":            {"1.5", "3", "4"},
	"fail-fast":         {"true", "false", "true"},
	"filter":            {"file", "env", "flag"},
	"force":             {"true", "false", "true"},
	"format":            {"svg", "html", "json"},
	"follow":            {"true", "false", "true"},
	"group":             {"file", "env", "flag"},
	"prefix":            {"task", "alloc", "none"},
	"index":             {"1", "2", "3"},
	"init":              {"file.hcl", "env.hcl", "flag.hcl"},
	"yes":               {"true", "false", "true"},
	"interactive":       {"true", "false", "auto"},
	"job":               {"file", "env", "flag"},
	"junit":             {"file.xml", "env.xml", "flag.xml"},
	"max-allocs":        {"1", "2", "3"},
	"local":             {"file.hcl", "env.hcl", "flag.hcl"},
	"neighbors":         {"all", "none", "data-dir"},
	"merge":             {"true", "false", "true"},
	"namespace":         {"file", "env", "flag"},
	"no-output":         {"true", "false", "true"},
	"nomad":             {"/file", "/env", "/flag"},
	"no-shutdown-delay": {"true", "false", "true"},
	"now":               {"true", "false", "true"},
	"orphans":           {"true", "false", "true"},
	"output":            {"json", "quiet", "plain"},
	"report":            {"github", "gitlab", "none"},
	"recursive":         {"true", "false", "true"},
	"repeat":            {"1", "2", "3"},
	"region":            {"file", "env", "flag"},
	"seed":              {"1", "2", "3"},
	"since":             {"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"},
	"stderr":            {"true", "false", "true"},
	"stdout":            {"true", "false", "true"},
	"no-restart":        {"true", "false", "true"},
	"show-secrets":      {"true", "false", "true"},
	"strict":            {"true", "false", "true"},
	"stubs":             {"file.hcl", "env.hcl", "flag.hcl"},
	"tail":              {"1", "2", "3"},
	"task":              {"file", "env", "flag"},
	"time":              {"iso", "elapsed", "none"},
	"timeout":           {"1s", "2s", "3s"},
	"timestamps":        {"true", "false", "true"},
	"tls-server-name":   {"file", "env", "flag"},
	"tls-skip-verify":   {"true", "false", "true"},
	"token":             {"file", "env", "flag"},
	"tty":               {"true", "false", "auto"},
	"ui":                {"true", "false", "true"},
	"until-fail":        {"true", "false", "true"},
	"watch":             {"true", "false", "true"},
	"until":             {"running=1s", "running=2s", "running=3s"},
	"to":                {"file.html", "env.html", "flag.html"},
	"history":           {"true", "false", "true"},
	"all-tasks":         {"true", "false", "true"},
	"kill":              {"true", "false", "true"},
	"dev":               {"true", "false", "true"},
	"idle-timeout":      {"1s", "2s", "3s"},
	"keep-jobs":         {"true", "false", "true"},
	"log-level":         {"debug", "warn", "error"},
	"no-token":          {"true", "false", "true"},
	"unit":              {"systemd", "launchd", "systemd"},
	"detach":            {"true", "false", "true"},
	"verbose":           {"true", "false", "true"},
	"wait":              {"true", "false", "true"},
	"payload":           {"file", "env", "flag"},
	"meta":              {"[a=file]", "[b=env]", "[c=flag]"},
	"rehearse":          {"true", "false", "true"},
	"offline":           {"true", "false", "true"},
	"download":          {"true", "false", "true"},
	"purge":             {"true", "false", "true"},
	"http-auth":         {"file:1", "env:2", "flag:3"},
	"http":              {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"},
	"update":            {"true", "false", "true"},
	"update-snapshots":  {"true", "false", "true"},
	"virtual":           {"true", "false", "true"},
	"volumes":           {"true", "false", "true"},
	"var":               {"[from=file]", "[from=env]", "[from=flag]"},
	"var-file":          {"[file.hcl]", "[env.hcl]", "[flag.hcl]"},

	"memory-oversubscription": {"true", "false", "true"},
}

// TestEveryOptionMayComeFromEverywhere sets each flag of each command in all
// possible ways. A new flag needs a row in samples.
func TestEveryOptionMayComeFromEverywhere(t *testing.T) {
	t.Parallel()
	root := newRootCommand(newApp(&console.Console{Color: ui.ColorAuto}, nil))
	for _, c := range slices.Concat(root.Commands(), subcommands(root)) {
		for _, name := range config.Options(allFlags(c)) {
			sample, ok := samples[name]
			if !ok {
				t.Errorf("%s --%s: there is no sample", c.Name(), name)
				continue
			}
			def := allFlags(c).Lookup(name).DefValue
			path := strings.Fields(c.CommandPath())[1:]
			t.Run(strings.Join(path, " ")+"/"+name, func(t *testing.T) {
				t.Parallel()
				value := func(s string) string { return strings.Trim(s, "[]") }
				file := filepath.Join(t.TempDir(), "config.yaml")
				if err := os.WriteFile(file, []byte(name+": "+value(sample[0])+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				env := []string{config.EnvName(name) + "=" + value(sample[1])}
				flag := "--" + name + "=" + value(sample[2])
				withFile := "TASKRUN_CONFIG=" + file // agent --config is a file of another kind
				for _, step := range []struct {
					why  string
					env  []string
					args []string
					want string
				}{
					{"default", nil, nil, def},
					{"file", []string{withFile}, nil, sample[0]},
					{"environment before file", append(env, withFile), nil, sample[1]},
					{"flag before environment", append(env, withFile), []string{flag}, sample[2]},
				} {
					if got := resolved(t, path, name, step.env, step.args); got != step.want {
						t.Errorf("%s: %q, want %q", step.why, got, step.want)
					}
				}
			})
		}
	}
}

// subcommands returns the commands of "agent", the only command that has flags and
// commands of its own.
func subcommands(root *cobra.Command) []*cobra.Command {
	for _, c := range root.Commands() {
		if c.Name() == "agent" {
			return c.Commands()
		}
	}
	return nil
}

// allFlags returns the flags of a command and of its parents.
func allFlags(c *cobra.Command) *pflag.FlagSet {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.AddFlagSet(c.LocalFlags())
	all.AddFlagSet(c.InheritedFlags())
	return all
}

// resolved returns the final value of a command's flag.
func resolved(t *testing.T, command []string, flag string, env, args []string) string {
	t.Helper()
	streams, _, _ := ui.Test()
	streams.Env = func(name string) string {
		for _, kv := range env {
			if k, v, _ := strings.Cut(kv, "="); k == name {
				return v
			}
		}
		return ""
	}
	a := newApp(&console.Console{Streams: streams, Color: ui.ColorAuto}, nil)
	root := newRootCommand(a)
	c, _, err := root.Find(command)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	if err := a.configure(c); err != nil {
		t.Fatal(err)
	}
	return c.Flags().Lookup(flag).Value.String()
}

func TestNomadsSpellingOfFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"up -var a=1 -var-file=f job", "up --var a=1 --var-file=f job"},
		{"exec -task web -job x -- sh -var y", "exec --task web --job x -- sh -var y"},
		{"up --var a=1 -v -vara", "up --var a=1 -v -vara"},
		{"exec -i web sh -job x", "exec -i web sh -job x"},
		{"exec -job=x sh -c -task", "exec --job=x sh -c -task"},
		{"exec -task t web sh -job x", "exec --task t web sh -job x"},
		{"ps -address=http://x -tls-skip-verify", "ps --address=http://x --tls-skip-verify"},
		{"fmt -check -recursive -", "fmt --check --recursive -"},
		{"--version", "version"},
		{"-version", "version"},
		{"-v", "version"},
		{"ps -v", "ps -v"},
	} {
		if got := nomadSpelling(strings.Fields(c.in)); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%q became %q, want %q", c.in, got, c.want)
		}
	}
}

func TestReplacementsOfDrivers(t *testing.T) {
	t.Parallel()
	known := map[string]drivers.Driver{"mock_driver": mock.New(), "raw_exec": mock.New()}
	instead := func(args ...string) (map[string]string, error) {
		var o machineOptions
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.bind(flags)
		for _, arg := range args {
			if err := flags.Parse([]string{"--driver=" + arg}); err != nil {
				return nil, err
			}
		}
		return o.instead(known)
	}
	got, err := instead("docker=mock_driver,exec=raw_exec", "java=mock_driver")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"docker": "mock_driver", "exec": "raw_exec", "java": "mock_driver"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, s := range []string{"docker", "=raw_exec", "docker=", "a=raw_exec,", "a=none"} {
		if _, err := instead(s); exit.Code(err) != verdict.Usage {
			t.Errorf("%q: %v", s, err)
		}
	}
}
