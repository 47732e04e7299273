package cmd

import (
	"fmt"
	"math"
	"strconv"

	"taskrun/cmd/ci"
	"taskrun/cmd/console"
)

type testOptions struct {
	jobOptions
	filter   string
	failFast bool
	seed     seed
	update   bool // snapshots
	verbose  bool
	format   console.Format
	report   ci.Options
	watched  *watched // learns which files were read; may be nil
	init     string   // job file to write a test file for
}

// usualSeed is the seed of runs unless another one is given: a virtual run that
// passes once always passes.
const usualSeed = 1

type seed uint64

func (s *seed) String() string { return strconv.FormatUint(uint64(*s), 10) }

func (s *seed) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not a number from 0 to %d", text, uint64(math.MaxUint64))
	}
	*s = seed(n)
	return nil
}

func (s *seed) Type() string { return "number" }

// repeatFlags returns the flags that a run needs again. Those of the environment and the
// config file are left out: they hold anyway, and may be secret.
func (o *testOptions) repeatFlags() (words []string) {
	add := func(name string, values []string) {
		for _, value := range values {
			if o.flags.Changed(name) {
				words = append(words, "--"+name, console.ShellWord(value))
			}
		}
	}
	add("var", o.Vars)
	add("var-file", o.VarFiles)
	return words
}
