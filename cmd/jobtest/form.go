package jobtest

import (
	"time"

	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec/decode"
)

// fileForm is the outermost level of a test file.
type fileForm struct {
	Job       string      `hcl:"job,optional"`
	Stubs     string      `hcl:"stubs,optional"`
	Variables []*bodyForm `hcl:"variables,block"`
	Runs      []*runForm  `hcl:"run,block"`
	decode.Placed
}

// bodyForm is a block with attributes of any name.
type bodyForm struct {
	Body hcl.Body `hcl:",body"`
}

type runForm struct {
	Name           string         `hcl:",label"`
	Mode           string         `hcl:"mode,optional"`
	Until          string         `hcl:"until,optional"`
	Timeout        time.Duration  `hcl:"timeout,optional"`
	Snapshot       string         `hcl:"snapshot,optional"`
	ExpectFailures hcl.Expression `hcl:"expect_failures,optional"`
	Variables      []*bodyForm    `hcl:"variables,block"`
	Tasks          []*taskForm    `hcl:"task,block"`
	Checks         []*Check       `hcl:"check,block"`
	Orders         []*orderForm   `hcl:"at,block"`
	Execs          []*Exec        `hcl:"exec,block"`
	Asserts        []*assertForm  `hcl:"assert,block"`
	decode.Placed
}

type taskForm struct {
	Target string `hcl:",label"`
	scriptForm
	Attempts []*attemptForm `hcl:"attempt,block"`
}

type attemptForm struct {
	Number string `hcl:",label"`
	scriptForm
}

type orderForm struct {
	At       string         `hcl:",label"`
	Stop     *string        `hcl:"stop,optional"`
	Restart  *string        `hcl:"restart,optional"`
	Signal   *string        `hcl:"signal,optional"`
	Target   string         `hcl:"target,optional"`
	Update   *string        `hcl:"update,optional"`
	Scale    map[string]int `hcl:"scale,optional"`
	Dispatch hcl.Expression `hcl:"dispatch,optional"`
	Promote  *bool          `hcl:"promote,optional"`
	decode.Placed
}

type assertForm struct {
	Condition hcl.Expression `hcl:"condition"`
	Message   hcl.Expression `hcl:"error_message,optional"`
	decode.Placed
}

// commandForm has the options of mock_driver that a command in a task has as
// well. Those that are not written are nil.
type commandForm struct {
	RunFor      *time.Duration `hcl:"run_for,optional"`
	ExitCode    *int           `hcl:"exit_code,optional"`
	ExitSignal  *int           `hcl:"exit_signal,optional"`
	ExitErrMsg  *string        `hcl:"exit_err_msg,optional"`
	SignalError *string        `hcl:"signal_error,optional"`

	Stdout               *string        `hcl:"stdout,optional"` // short for stdout_string
	StdoutString         *string        `hcl:"stdout_string,optional"`
	StdoutRepeat         *int           `hcl:"stdout_repeat,optional"`
	StdoutRepeatDuration *time.Duration `hcl:"stdout_repeat_duration,optional"`
	Stderr               *string        `hcl:"stderr,optional"`
	StderrString         *string        `hcl:"stderr_string,optional"`
	StderrRepeat         *int           `hcl:"stderr_repeat,optional"`
	StderrRepeatDuration *time.Duration `hcl:"stderr_repeat_duration,optional"`
	decode.Placed
}

// scriptForm has all of them.
type scriptForm struct {
	StartBlockFor         *time.Duration `hcl:"start_block_for,optional"`
	StartError            *string        `hcl:"start_error,optional"`
	StartErrorRecoverable *bool          `hcl:"start_error_recoverable,optional"`
	KillAfter             *time.Duration `hcl:"kill_after,optional"`
	PluginExitAfter       *time.Duration `hcl:"plugin_exit_after,optional"`
	DriverIP              *string        `hcl:"driver_ip,optional"`
	DriverAdvertise       *bool          `hcl:"driver_advertise,optional"`
	DriverPortMap         *string        `hcl:"driver_port_map,optional"`
	Exec                  *commandForm   `hcl:"exec_command,block"`
	commandForm
}
