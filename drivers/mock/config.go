package mock

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/jobspec/taskenv"
)

// config is the config block of a task, with the options of Nomad's
// mock_driver; see
// https://github.com/hashicorp/nomad/blob/main/contributing/mock-driver.md.
type config struct {
	command
	StartBlockFor         time.Duration `cty:"start_block_for"` // before the start, and before StartError
	StartError            string        `cty:"start_error"`     // empty: the task starts
	StartErrorRecoverable bool          `cty:"start_error_recoverable"`
	KillAfter             time.Duration `cty:"kill_after"`        // from StopTask to the end
	PluginExitAfter       time.Duration `cty:"plugin_exit_after"` // 0: never
	DriverIP              string        `cty:"driver_ip"`
	DriverAdvertise       bool          `cty:"driver_advertise"`
	DriverPortMap         string        `cty:"driver_port_map"` // "label:port"
	Exec                  *command      `cty:"exec_command"`    // what commands in the task do; nil: there are none
}

// command describes the behavior of a task, or of a command in it.
type command struct {
	RunFor      time.Duration `cty:"run_for"` // 0: it ends once its output is written
	ExitCode    int           `cty:"exit_code"`
	ExitSignal  int           `cty:"exit_signal"`
	ExitErrMsg  string        `cty:"exit_err_msg"`
	SignalError string        `cty:"signal_error"` // of SignalTask

	StdoutString         string        `cty:"stdout_string"`
	StdoutRepeat         int           `cty:"stdout_repeat"`
	StdoutRepeatDuration time.Duration `cty:"stdout_repeat_duration"`
	StderrString         string        `cty:"stderr_string"`
	StderrRepeat         int           `cty:"stderr_repeat"`
	StderrRepeatDuration time.Duration `cty:"stderr_repeat_duration"`
}

func decodeConfig(val cty.Value) (*config, error) {
	if val == cty.NilVal || val.IsNull() {
		return nil, errors.New("failed to decode driver config: it is missing")
	}
	if err := checkDurations(val); err != nil {
		return nil, err
	}
	c := &config{}
	if err := taskenv.Decode(val, c); err != nil {
		return nil, fmt.Errorf("failed to decode driver config: %w", err)
	}
	return c, nil
}

var durations = []string{
	"start_block_for", "plugin_exit_after", "kill_after", "run_for", "stdout_repeat_duration", "stderr_repeat_duration",
}

// checkDurations returns Nomad's error for an option that is no duration.
func checkDurations(config cty.Value) error {
	for key, v := range config.Elements() {
		name := key.AsString()
		switch {
		case v.IsNull():
		case name == "exec_command":
			if err := checkDurations(v); err != nil {
				return err
			}
		case slices.Contains(durations, name) && v.AsString() != "":
			if _, err := time.ParseDuration(v.AsString()); err != nil {
				return fmt.Errorf("%s %s not a valid duration: %w", name, v.AsString(), err)
			}
		}
	}
	return nil
}

// result returns how the command ends.
func (c *command) result() drivers.ExitResult {
	return drivers.ExitResult{ExitCode: c.ExitCode, Signal: c.ExitSignal, Err: failure(c.ExitErrMsg)}
}

// startError returns the error of the start; nil if the task starts.
func (c *config) startError() error {
	if c.StartErrorRecoverable {
		return drivers.Recoverable(failure(c.StartError))
	}
	return failure(c.StartError)
}

// network returns the network of the task.
func (c *config) network() (*drivers.Network, error) {
	n := &drivers.Network{IP: c.DriverIP, AutoAdvertise: c.DriverAdvertise}
	if c.DriverPortMap == "" {
		return n, nil
	}
	label, number, ok := strings.Cut(c.DriverPortMap, ":")
	if !ok || strings.Contains(number, ":") {
		return nil, fmt.Errorf("malformed port map: %q", c.DriverPortMap)
	}
	port, err := strconv.Atoi(number)
	if err != nil {
		return nil, fmt.Errorf("malformed port map: %q -- error: %w", c.DriverPortMap, err)
	}
	n.PortMap = map[string]int{label: port}
	return n, nil
}

// failure returns an error with a text; nil for "".
func failure(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text) //nolint:err113 // the job's words
}
