package drivers_test

import (
	"testing"

	"taskrun/drivers"
)

// plain is a driver that has only what it must, and says so.
type plain struct {
	drivers.Driver
	drivers.DriverSignalTaskNotSupported
	drivers.DriverExecTaskNotSupported
}

func TestNotSupported(t *testing.T) {
	t.Parallel()
	var d drivers.Driver = plain{}
	if err := d.(drivers.Signaler).SignalTask("id", "SIGHUP"); err == nil || err.Error() != "SignalTask is not supported by this driver" {
		t.Errorf("SignalTask: %v", err)
	}
	if _, err := d.(drivers.Execer).ExecTask(t.Context(), "id", []string{"true"}); err == nil || err.Error() != "ExecTask is not supported by this driver" {
		t.Errorf("ExecTask: %v", err)
	}
}
