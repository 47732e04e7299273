package drivers

import (
	"context"
	"errors"
)

// DriverSignalTaskNotSupported is to be embedded by a driver that cannot send
// signals, where one must be a Signaler.
type DriverSignalTaskNotSupported struct{}

// SignalTask refuses.
func (DriverSignalTaskNotSupported) SignalTask(string, string) error {
	return errors.New("SignalTask is not supported by this driver")
}

// DriverExecTaskNotSupported is to be embedded by a driver that cannot run
// commands in its tasks, where one must be an Execer.
type DriverExecTaskNotSupported struct{}

// ExecTask refuses.
func (DriverExecTaskNotSupported) ExecTask(context.Context, string, []string) (*ExecTaskResult, error) {
	return nil, errors.New("ExecTask is not supported by this driver")
}

var (
	_ Signaler = DriverSignalTaskNotSupported{}
	_ Execer   = DriverExecTaskNotSupported{}
)
