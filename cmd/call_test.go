package cmd

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/drivers"
)

// TestWrongCalls checks that the error of a wrong call is in taskrun's words
// and has a remedy.
func TestWrongCalls(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{
		"sto":                              `unknown command "sto"` + "\n" + `did you mean "stop"?`,
		"statsu":                           `did you mean "stats"?`,
		"lgos":                             `did you mean "logs"?`,
		"dwn":                              `did you mean "down"?`,
		"val":                              `did you mean "validate"?`,
		"top":                              `unknown command "top"` + "\n" + `use: taskrun stats`,
		"kill web":                         `unknown command "kill"` + "\n" + `use: taskrun stop --kill`,
		"job run x.hcl":                    `unknown command "job"` + "\nuse: taskrun up",
		"alloc logs -f web":                "use: taskrun logs",
		"alloc status":                     "use: taskrun ps",
		"alloc fs web":                     "use: taskrun cp",
		"deployment promote 1a2b":          "use: taskrun promote",
		"node drain":                       "the nomad CLI works with a run, too; see: taskrun help api",
		"node status":                      "the nomad CLI works with a run, too; see: taskrun help api",
		"var":                              "the nomad CLI works with a run, too; see: taskrun help api",
		"--versions":                       "unknown flag: --versions",
		"xyzzy":                            "see: taskrun --help",
		"up --dry-run x.hcl":               "unknown flag: --dry-run\nto do a dry run: taskrun rehearse",
		"run --dry-run x.hcl":              "to do a dry run: taskrun rehearse",
		"ps --json":                        "unknown flag: --json\nfor JSON: --output json",
		"status -json":                     "for JSON: --output json",
		"stop -yes web":                    "leave it out: taskrun asks only before it removes data",
		"up -fail-fast x.hcl":              "did you mean --fail-fast?",
		"ps -zzz":                          "unknown shorthand flag: 'z' in -zzz\nsee: taskrun ps --help",
		"up --fail-fsat x.hcl":             "unknown flag: --fail-fsat\ndid you mean --fail-fast?",
		"up --rehears x.hcl":               "see: taskrun up --help", // no hidden flag is suggested
		"stats -it web":                    "-i and -t are for taskrun exec and taskrun action",
		"ps -z":                            "unknown shorthand flag: 'z' in -z\nsee: taskrun ps --help",
		"ps --address":                     "flag needs an argument: --address\nsee: taskrun ps --help",
		"scale web":                        "taskrun scale takes 2 to 3 arguments, not 1\nusage: taskrun scale JOB [GROUP] COUNT",
		"signal":                           "taskrun signal takes 2 arguments, not 0",
		"dispatch":                         "taskrun dispatch takes 1 argument, not 0",
		"restart":                          "taskrun restart takes at least 1 argument, not 0",
		"down a b":                         "taskrun stop takes at most 1 argument, not 2",
		"version 1":                        "taskrun version takes no arguments, not 1",
		"logs --tail x":                    `cannot use --tail: "x" is not a whole number`,
		"logs --tail 99999999999999999999": `cannot use --tail: "99999999999999999999" is out of range`,
		"up --timeout 10":                  `cannot use --timeout: "10" is not a duration, such as 30s or 5m`,
		"up --fail-fast=maybe":             `cannot use --fail-fast: "maybe" is not true or false`,
		"up --max-allocs=0":                `cannot use --max-allocs: "0" is not a number from 1 to 2147483647`,
		"ps --config jobs.ini":             `cannot read config file "jobs.ini": its name must end in .hcl, .toml, .yaml, .yml or .json`,
		"clean --all --volumes":            "cannot ask whether to remove the volumes in",
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			streams, _, errs := ui.Test()
			dir := t.TempDir()
			streams.Env = func(name string) string {
				return map[string]string{"XDG_RUNTIME_DIR": dir, "XDG_STATE_HOME": dir}[name]
			}
			a := newApp(&console.Console{Streams: streams, Color: ui.ColorAuto}, func() map[string]drivers.Driver { return nil })
			code := a.run(t.Context(), strings.Fields(call))
			if got := errs.String(); !strings.Contains(got, want) || !strings.HasPrefix(got, "taskrun: ") || strings.Contains(got, "strconv") {
				t.Errorf("it says %q, want %q", got, want)
			}
			if code != verdict.Usage {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// Calls about nothing that exists are answered: no command fails without a word, or
// panics.
func TestCallsAboutNothing(t *testing.T) { //nolint:paralleltest // commands set the pace of the garbage collector
	usual := debug.SetGCPercent(100)
	defer debug.SetGCPercent(usual)
	for _, c := range allCommands() {
		if c.name == "agent" { // it would start one
			continue
		}
		for _, args := range [][]string{nil, {""}, {":"}, {"nowhere.hcl"}, {"", ""}, {":x", "y:"}, {"--", "nowhere", "sh"}} {
			t.Run(strings.Join(append([]string{c.name}, args...), " "), func(t *testing.T) {
				streams, out, errs := ui.Test()
				dir := t.TempDir()
				streams.Env = func(name string) string {
					return map[string]string{"XDG_RUNTIME_DIR": dir, "XDG_STATE_HOME": dir}[name]
				}
				none := func() (<-chan os.Signal, func()) { return nil, func() {} }
				a := newApp(&console.Console{Streams: streams, Color: ui.ColorAuto, Signals: none}, func() map[string]drivers.Driver { return nil })
				if code := a.run(t.Context(), append([]string{c.name}, args...)); code != verdict.OK && out.Len()+errs.Len() == 0 {
					t.Errorf("exit code %d without a word", code)
				}
			})
		}
	}
}

// TestCleanAsksBeforeItRemovesVolumes removes volumes only after a yes.
func TestCleanAsksBeforeItRemovesVolumes(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]int{"yes\n": verdict.OK, "Y\n": verdict.OK, "no\n": verdict.Failed, "\n": verdict.Failed, "": verdict.Failed} {
		streams, _, errs := ui.Test()
		streams.In, streams.InTerm, streams.ErrTerm = strings.NewReader(answer), true, true
		dir := t.TempDir()
		streams.Env = func(string) string { return dir }
		a := newApp(&console.Console{Streams: streams, Color: ui.ColorNever}, func() map[string]drivers.Driver { return nil })
		err := runClean(t.Context(), a, cleanOptions{mode: ui.Plain, all: true, volumes: true, dataDir: dir})
		if exit.Code(err) != want || !strings.Contains(errs.String(), "remove the volumes in "+dir) {
			t.Errorf("%q: %v, after %q", answer, err, errs)
		}
	}
}
