package preflight

import (
	"testing"

	"taskrun/drivers"
	"taskrun/jobspec"
)

// A driver of Nomad that taskrun lacks, a misspelling and a possible plugin have
// different remedies.
func TestUnknownDriver(t *testing.T) {
	t.Parallel()
	known := map[string]drivers.Driver{"raw_exec": nil, "mock_driver": nil, "docker": nil}
	const nomads = `taskrun does not have Nomad's driver "nspawn"`
	const another = "run it with another one: --driver nspawn=mock_driver, or rehearse the job: taskrun rehearse"
	for _, tt := range []struct {
		name            string
		entry           Entry
		severity        jobspec.Severity
		summary, remedy string
	}{
		{"nspawn", Up, jobspec.Error, nomads, another},
		{"nspawn", Strict, jobspec.Warning, nomads, another},
		{"nspawn", Validate, 0, "", ""},
		{"dokcer", Up, jobspec.Error, `there is no driver "dokcer"`, `did you mean "docker"?`},
		{"dokcer", Validate, jobspec.Error, `there is no driver "dokcer"`, `did you mean "docker"?`},
		{"company-own", Up, jobspec.Error, `there is no driver "company-own"`, "run it with another one: --driver company-own=mock_driver"},
		{"company-own", Plan, jobspec.Warning, `there is no driver "company-own"`, ""},
	} {
		got := unknownDriver(known, tt.name, jobspec.Root, tt.entry)
		if tt.summary == "" {
			if len(got) > 0 {
				t.Errorf("%+v: %v", tt, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Severity != tt.severity || got[0].Summary != tt.summary || got[0].Remedy != tt.remedy || got[0].Detail != "taskrun has docker, mock_driver, raw_exec" {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
	for name, want := range map[string]bool{"nspawn": true, "company-own": true, "dokcer": false} {
		if got := IsPlugin(known, name); got != want {
			t.Errorf("%q is a plugin: %v", name, got)
		}
	}
}
