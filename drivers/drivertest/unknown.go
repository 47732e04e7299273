package drivertest

import (
	"errors"
	"time"

	"taskrun/drivers"
)

func testUnknownTask(f *fixture) { f.mustBeUnknown("no/such/task") }

// mustBeUnknown checks that every method returns ErrTaskNotFound, which means
// to the runner that the task has ended.
func (f *fixture) mustBeUnknown(id string) {
	f.Helper()
	methods := map[string]func() error{
		"WaitTask":    func() error { _, err := f.d.WaitTask(f.ctx, id); return err },
		"StopTask":    func() error { return f.d.StopTask(f.ctx, id, 0, "") },
		"DestroyTask": func() error { return f.d.DestroyTask(id, true) },
		"InspectTask": func() error { _, err := f.d.InspectTask(id); return err },
	}
	if d, ok := f.d.(drivers.Signaler); ok {
		methods["SignalTask"] = func() error { return d.SignalTask(id, "SIGHUP") }
	}
	if d, ok := f.d.(drivers.StatsCollector); ok {
		methods["TaskStats"] = func() error { _, err := d.TaskStats(f.ctx, id, time.Second); return err }
	}
	if drivers.CanCapture(f.d) {
		methods["ExecTask"] = func() error {
			_, err := drivers.ExecTask(f.ctx, f.d, id, f.deaf([]string{"true"}, false))
			return err
		}
		methods["Capture"] = func() error { _, err := drivers.Capture(f.ctx, f.d, id, []string{"true"}); return err }
	}
	for name, call := range methods {
		if err := call(); !errors.Is(err, drivers.ErrTaskNotFound) {
			f.Errorf("the error of %s is %v", name, err)
		}
	}
}
