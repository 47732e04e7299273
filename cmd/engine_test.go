package cmd

import (
	"slices"
	"testing"

	"taskrun/cmd/console"
)

// Flags of the command line win over the environment of a run's engine, even
// with their default values.
func TestEngineArgs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, want []string }{
		{nil, nil},
		{[]string{"--detach", "--wait", "--strict"}, nil}, // only for the command
		{
			[]string{"--timeout=0", "--fail-fast=false", "--max-allocs=10000"},
			[]string{"--fail-fast=false", "--max-allocs=10000", "--timeout=0s"},
		},
		{
			[]string{"--until", "running=3s", "--driver=docker=mock_driver", "--driver", "java=mock_driver"},
			[]string{"--driver=docker=mock_driver,java=mock_driver", "--until=running=3s"},
		},
	} {
		a := newApp(&console.Console{}, nil)
		flags := newUpCommand(a).Flags()
		if err := flags.Parse(c.given); err != nil {
			t.Fatal(err)
		}
		args := engineArgs(a, "jobs.json", flags)
		if want := append([]string{"engine", "jobs.json"}, c.want...); !slices.Equal(args, want) {
			t.Errorf("%q: %q, want %q", c.given, args, want)
		}
		engine := newEngineCommand(a)
		if err := engine.ParseFlags(args[1:]); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}
