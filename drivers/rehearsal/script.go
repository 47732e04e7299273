package rehearsal

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"taskrun/drivers/mock"
)

// Forever is the run_for of a task that runs until it is stopped. In options it
// may be written "forever".
const Forever time.Duration = math.MaxInt64

const forever = "forever"

// Script is what a task does after a start.
type Script struct {
	// Options is an object of options of mock_driver, as Read returns it. With
	// cty.NilVal the task plays its own config block, which must be one of
	// mock_driver.
	Options cty.Value
	// Lag is added to each start and to the durations after which something
	// happens by itself.
	Lag Lag
}

// For returns the script of a task that runs for a while, or Forever.
func For(runFor time.Duration, exitCode int) Script {
	return Script{Options: cty.ObjectVal(map[string]cty.Value{
		"run_for":   cty.StringVal(runFor.String()),
		"exit_code": cty.NumberIntVal(int64(exitCode)),
	})}
}

// OptionError is what is wrong with an option.
type OptionError struct {
	Option string
	Err    error
}

func (e *OptionError) Error() string { return fmt.Sprintf("option %q: %v", e.Option, e.Err) }

func (e *OptionError) Unwrap() error { return e.Err }

var (
	errNoObject = errors.New("options are an object")
	errUnknown  = errors.New("mock_driver has no such option")
)

func schema() cty.Type { return hcldec.ImpliedType(mock.New().TaskConfigSchema()) }

// Read checks options against those of mock_driver, and returns them with the
// types that they have there. Options that are missing are those of defaults,
// which may be cty.NilVal. The error is an *OptionError.
func Read(options, defaults cty.Value) (cty.Value, error) {
	read, err := readObject(options, schema())
	if err != nil || defaults == cty.NilVal {
		return read, err
	}
	all := defaults.AsValueMap()
	maps.Copy(all, read.AsValueMap())
	return cty.ObjectVal(all), nil
}

// readObject reads those attributes of an object that are set.
func readObject(options cty.Value, known cty.Type) (cty.Value, error) {
	if !options.Type().IsObjectType() || options.IsNull() || !options.IsWhollyKnown() {
		return cty.NilVal, &OptionError{Err: errNoObject}
	}
	read := map[string]cty.Value{}
	set := options.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(set)) { // of several wrong options the same is named each time
		value := set[name]
		switch {
		case value.IsNull():
			continue
		case !known.HasAttribute(name):
			return cty.NilVal, &OptionError{name, errUnknown}
		}
		value, err := readOption(name, value, known.AttributeType(name))
		if err != nil {
			return cty.NilVal, &OptionError{name, err}
		}
		read[name] = value
	}
	return cty.ObjectVal(read), nil
}

func readOption(name string, value cty.Value, known cty.Type) (cty.Value, error) {
	if known.IsObjectType() {
		return readObject(value, known)
	}
	if name == "run_for" && value.Type() == cty.String && value.AsString() == forever {
		return cty.StringVal(Forever.String()), nil
	}
	value, err := convert.Convert(value, known)
	if err != nil {
		return cty.NilVal, err
	}
	return value, mock.Check(cty.ObjectVal(map[string]cty.Value{name: value}))
}

// RunsOn reports whether the task runs until it is stopped.
func (s Script) RunsOn() bool {
	if s.Options == cty.NilVal || !s.Options.Type().HasAttribute("run_for") {
		return false
	}
	d, err := time.ParseDuration(s.Options.GetAttr("run_for").AsString())
	return err == nil && d == Forever
}

// delayed are the options that say when something happens by itself.
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
	for _, name := range []string{"run_for", "start_block_for"} { // which are 0 otherwise
		if v, ok := all[name]; !ok || v.IsNull() {
			all[name] = cty.StringVal("")
		}
	}
	for _, name := range delayed {
		if v, ok := all[name]; ok && !v.IsNull() {
			all[name] = s.later(name, v)
		}
	}
	return cty.ObjectVal(all)
}

// later returns the value of an option with the lag. A plugin_exit_after of 0
// means never, and what lasts forever lasts no longer.
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
