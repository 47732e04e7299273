// Package drivertest is the test suite of drivers: a driver is finished when it
// passes Run. It also provides the config and the output of a task for other
// tests of drivers.
package drivertest

import (
	"context"
	"errors"
	"testing"

	"taskrun/drivers"
)

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for _, c := range []struct {
		name string
		test func(*fixture)
	}{
		{"Info", testInfo},
		{"Fingerprint", testFingerprint},
		{"Start", testStart},
		{"StartTwice", testStartTwice},
		{"StartFails", testStartFails},
		{"ExitCode", testExitCode},
		{"Output", testOutput},
		{"WaitManyTimes", testWaitManyTimes},
		{"WaitCanceled", testWaitCanceled},
		{"Stop", testStop},
		{"StopStubborn", testStopStubborn},
		{"StopCanceled", testStopCanceled},
		{"StopAfterEnd", testStopAfterEnd},
		{"StopAtOnce", testStopAtOnce},
		{"StopTogether", testStopTogether},
		{"DestroyRunning", testDestroyRunning},
		{"DestroyEnded", testDestroyEnded},
		{"UnknownTask", testUnknownTask},
		{"Signal", testSignal},
		{"Exec", testExec},
		{"ExecStdin", testExecStdin},
		{"ExecTerminal", testExecTerminal},
		{"ExecSize", testExecSize},
		{"ExecDisconnect", testExecDisconnect},
		{"ExecCanceled", testExecCanceled},
		{"ExecTaskEnds", testExecTaskEnds},
		{"Capture", testCapture},
		{"CaptureTimeout", testCaptureTimeout},
		{"Stats", testStats},
		{"Events", testEvents},
		{"Recover", testRecover},
		{"Concurrent", testConcurrent},
		{"Many", testMany},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := &fixture{T: t, h: h, d: h.New()}
			var cancel context.CancelFunc
			f.ctx, cancel = context.WithTimeoutCause(context.Background(), patience, errors.New("it took too long"))
			t.Cleanup(func() {
				defer cancel()
				if d, ok := f.d.(drivers.Shutdowner); ok {
					if n, err := d.Shutdown(f.ctx); n != 0 || err != nil {
						t.Errorf("at the end the driver killed %d processes: %v", n, err)
					}
				}
			})
			c.test(f)
		})
	}
}
