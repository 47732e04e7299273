package mock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"

	"taskrun/drivers"
	"taskrun/drivers/schema"
)

// taskSchema names the options of a task's config block, those of Nomad's
// mock_driver; see
// https://github.com/hashicorp/nomad/blob/main/contributing/mock-driver.md.
var taskSchema = schema.Join(commandSchema,
	schema.Optional(cty.String, "start_error", "start_block_for", "kill_after", "plugin_exit_after", "driver_ip", "driver_port_map"),
	schema.Optional(cty.Bool, "start_error_recoverable", "driver_advertise"),
	schema.Block("exec_command", commandSchema))

// commandSchema names what a task and its exec_command have in common.
var commandSchema = schema.Join(
	schema.Optional(cty.String, "run_for", "exit_err_msg", "signal_error",
		"stdout_string", "stdout_repeat_duration", "stderr_string", "stderr_repeat_duration"),
	schema.Optional(cty.Number, "exit_code", "exit_signal", "stdout_repeat", "stderr_repeat"))

// config is the script of a task.
type config struct {
	command
	startBlockFor   time.Duration   // before the start, and before startError
	startError      error           // nil: the task starts
	killAfter       time.Duration   // from StopTask to the end
	pluginExitAfter time.Duration   // 0: never
	network         drivers.Network // without its port map
	portMap         string          // "label:port"
	exec            *command        // what a command run inside the task does; nil: none can
}

// command is what a task does, or a command run inside it.
type command struct {
	runFor         time.Duration // 0: ends as soon as its output is written
	result         drivers.ExitResult
	signalError    error // what SignalTask returns
	stdout, stderr script
}

// script is the output to one stream: the text once, then again as often as
// repeat says, each time after a pause.
type script struct {
	text   string
	repeat int
	pause  time.Duration
}

func decodeConfig(val cty.Value) (*config, error) {
	if val == cty.NilVal || !val.Type().IsObjectType() || val.IsNull() {
		return nil, errors.New("failed to decode driver config: it is no object")
	}
	r := reader{val: val}
	c := &config{
		startBlockFor:   r.duration("start_block_for"),
		pluginExitAfter: r.duration("plugin_exit_after"),
		killAfter:       r.duration("kill_after"),
		startError:      r.failure("start_error"),
		network:         drivers.Network{IP: r.text("driver_ip"), AutoAdvertise: r.flag("driver_advertise")},
		portMap:         r.text("driver_port_map"),
		command:         r.command(),
	}
	if exec, ok := r.get("exec_command"); ok {
		nested := reader{val: exec, err: r.err}
		command := nested.command()
		c.exec, r.err = &command, nested.err
	}
	if r.flag("start_error_recoverable") {
		c.startError = drivers.Recoverable(c.startError)
	}
	return c, r.err
}

// parsePortMap reads "label:port".
func parsePortMap(raw string) (map[string]int, error) {
	if raw == "" {
		return nil, nil
	}
	label, number, ok := strings.Cut(raw, ":")
	if !ok || strings.Contains(number, ":") {
		return nil, fmt.Errorf("malformed port map: %q", raw)
	}
	port, err := strconv.Atoi(number)
	if err != nil {
		return nil, fmt.Errorf("malformed port map: %q -- error: %w", raw, err)
	}
	return map[string]int{label: port}, nil
}

// reader takes options out of a decoded config block. An option that is not
// set reads as zero; the first error stays.
type reader struct {
	val cty.Value
	err error
}

func (r *reader) command() command {
	return command{
		runFor: r.duration("run_for"),
		result: drivers.ExitResult{
			ExitCode: r.number("exit_code"),
			Signal:   r.number("exit_signal"),
			Err:      r.failure("exit_err_msg"),
		},
		signalError: r.failure("signal_error"),
		stdout:      r.script("stdout"),
		stderr:      r.script("stderr"),
	}
}

func (r *reader) script(stream string) script {
	return script{
		text:   r.text(stream + "_string"),
		repeat: r.number(stream + "_repeat"),
		pause:  r.duration(stream + "_repeat_duration"),
	}
}

func (r *reader) get(name string) (cty.Value, bool) {
	if !r.val.Type().HasAttribute(name) {
		return cty.NilVal, false
	}
	val := r.val.GetAttr(name)
	return val, !val.IsNull()
}

func (r *reader) into(name string, target any) {
	val, ok := r.get(name)
	if !ok {
		return
	}
	if err := gocty.FromCtyValue(val, target); err != nil && r.err == nil {
		r.err = fmt.Errorf("failed to decode driver config: %s: %w", name, err)
	}
}

func (r *reader) text(name string) (s string) { r.into(name, &s); return s }
func (r *reader) number(name string) (n int)  { r.into(name, &n); return n }
func (r *reader) flag(name string) (b bool)   { r.into(name, &b); return b }

// failure is an error with the option's text, nil when that is empty.
func (r *reader) failure(name string) error {
	if text := r.text(name); text != "" {
		return errors.New(text)
	}
	return nil
}

func (r *reader) duration(name string) time.Duration {
	raw := r.text(name)
	if raw == "" {
		return 0
	}
	d, err := time.ParseDuration(raw)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("%s %s not a valid duration: %w", name, raw, err)
	}
	return d
}
