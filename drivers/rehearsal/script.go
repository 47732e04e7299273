package rehearsal

import (
	"math"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// Forever is the run_for of a task that runs until it is stopped.
const Forever time.Duration = math.MaxInt64

// Script describes the behavior of a task after a start.
type Script struct {
	// Options is an object of options of mock_driver. With cty.NilVal the task
	// plays its own config block, which must be one of mock_driver.
	Options cty.Value
	// Lag is added to each start, and to the durations of the options in delayed.
	Lag Lag
}

// For returns the script of a task that runs for a while, or Forever.
func For(runFor time.Duration, exitCode int) Script {
	return Script{Options: cty.ObjectVal(map[string]cty.Value{
		"run_for":   cty.StringVal(runFor.String()),
		"exit_code": cty.NumberIntVal(int64(exitCode)),
	})}
}

// RunsOn reports whether the task runs until it is stopped.
func (s Script) RunsOn() bool {
	if s.Options == cty.NilVal || !s.Options.Type().HasAttribute("run_for") {
		return false
	}
	d, err := time.ParseDuration(s.Options.GetAttr("run_for").AsString())
	return err == nil && d == Forever
}

// delayed are the options that are durations until an event.
var delayed = []string{"run_for", "start_block_for", "plugin_exit_after"}

// late returns the options with the lag; own is the config block of the task.
func (s Script) late(own cty.Value) cty.Value {
	options := s.Options
	if options == cty.NilVal {
		options = own
	}
	if s.Lag == (Lag{}) {
		return options
	}
	all := options.AsValueMap()
	for _, name := range delayed {
		switch v, ok := all[name]; {
		case ok && !v.IsNull():
			all[name] = s.later(name, v)
		case name != "plugin_exit_after": // which never happens then; the others are 0
			all[name] = s.later(name, cty.StringVal(""))
		}
	}
	return cty.ObjectVal(all)
}

// later returns the value of an option with the lag. A plugin_exit_after of 0 means
// never. A value that means forever is not changed.
func (s Script) later(name string, v cty.Value) cty.Value {
	var d time.Duration
	if text := v.AsString(); text != "" {
		var err error
		if d, err = time.ParseDuration(text); err != nil {
			return v // the driver refuses it
		}
	}
	lag := s.Lag.Run
	if name == "start_block_for" {
		lag = s.Lag.Start
	}
	if d == 0 && name == "plugin_exit_after" || d > Forever-lag {
		return v
	}
	return cty.StringVal((d + lag).String())
}
