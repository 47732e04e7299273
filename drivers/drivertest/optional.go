package drivertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcldec"

	"taskrun/drivers"
)

func testInfo(f *fixture) {
	if name, c := f.d.Info().Name, f.d.Capabilities(); name == "" || c.FSIsolation == "" {
		f.Errorf("driver %q has the capabilities %+v", name, c)
	}
	d, ok := f.d.(drivers.Configurable)
	if !ok {
		return
	}
	val, diags := hcldec.Decode(hcl.EmptyBody(), d.ConfigSchema(), nil)
	if diags.HasErrors() {
		f.Fatalf("options cannot be left out: %v", diags)
	}
	before := f.d.Capabilities().FSIsolation
	if err := d.SetConfig(val); err != nil || f.d.Capabilities().FSIsolation != before {
		f.Errorf("without options it is not as it was: %v", err)
	}
}

func testStats(f *fixture) {
	d, ok := f.d.(drivers.StatsCollector)
	if !ok {
		f.Skip("the driver has no stats")
	}
	t := f.startForever(false)
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	ended, err := d.TaskStats(f.ctx, t.ID, time.Hour)
	f.must(err)
	canceled, err := d.TaskStats(ctx, t.ID, time.Millisecond)
	f.must(err)
	for range 3 { // at once, and then again
		s, ok := <-canceled
		if !ok || s.ResourceUsage == nil || s.ResourceUsage.MemoryStats == nil || s.ResourceUsage.CpuStats == nil || s.Timestamp == 0 {
			f.Fatalf("a sample is %+v", s)
		}
	}
	cancel()
	for range canceled { // until it is closed
	}
	f.mustRun(t)
	if s, ok := <-ended; !ok || s.ResourceUsage == nil {
		f.Errorf("the first sample is %+v", s)
	}
	f.must(f.d.StopTask(f.ctx, t.ID, 0, ""))
	for range ended { // until it is closed
	}
	after, err := d.TaskStats(f.ctx, t.ID, 0)
	f.must(err)
	for range after { // until it is closed
	}
}

func testEvents(f *fixture) {
	d, ok := f.d.(drivers.EventSource)
	if !ok {
		f.Skip("the driver has no events")
	}
	ctx, cancel := context.WithCancel(f.ctx)
	first, err := d.TaskEvents(ctx)
	f.must(err)
	second, err := d.TaskEvents(f.ctx)
	f.must(err)
	cancel()
	for range first { // until it is closed
	}
	select {
	case _, ok := <-second:
		if !ok {
			f.Error("the end of one stream ended another")
		}
	default:
	}
}

func testRecover(f *fixture) {
	d, ok := f.d.(drivers.Recoverer)
	if !ok {
		f.Skip("the driver finds nothing again")
	}
	t := f.prepare(Script{Stdout: "ready", Forever: true})
	handle, _, err := f.d.StartTask(f.ctx, t.TaskConfig)
	f.must(err)
	f.Cleanup(func() { _ = f.d.DestroyTask(t.ID, true) })
	before := f.inspect(t)
	for _, h := range []*drivers.TaskHandle{handle, {Version: handle.Version, Config: t.TaskConfig}} {
		if err := d.RecoverTask(h); err != nil {
			f.Errorf("a task that runs was not recovered: %v", err)
		}
		f.mustRun(t)
		if after := f.inspect(t); !after.StartedAt.Equal(before.StartedAt) || after.Attributes["pid"] != before.Attributes["pid"] {
			f.Errorf("it was %+v, it is %+v", before, after)
		}
	}
	f.must(f.d.StopTask(f.ctx, t.ID, 0, ""))
	f.wait(t)

	never := f.prepare(Script{})
	if err := d.RecoverTask(&drivers.TaskHandle{Version: handle.Version, Config: never.TaskConfig}); !errors.Is(err, drivers.ErrTaskNotFound) {
		f.Errorf("the error for a task that was never started is %v", err)
	}
	if err := d.RecoverTask(&drivers.TaskHandle{Version: handle.Version, Config: never.TaskConfig, DriverState: []byte("nonsense")}); err == nil {
		f.Error("nonsense was recovered")
	}
	if err := d.RecoverTask(nil); err == nil {
		f.Error("nothing was recovered")
	}
	f.mustBeUnknown(never.ID)
	if _, _, err := f.d.StartTask(f.ctx, never.TaskConfig); err != nil { // it can still be started
		f.Fatal(err)
	}
	f.wait(never)
	f.must(f.d.DestroyTask(never.ID, false))
}

// Everything that can be called is called concurrently, while the task ends.
func testConcurrent(f *fixture) {
	t := f.startForever(false)
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	calls := []func() error{
		func() error { _, err := f.d.InspectTask(t.ID); return err },
		func() error {
			ch, err := f.d.WaitTask(f.ctx, t.ID)
			if err == nil {
				<-ch
			}
			return err
		},
		func() error { return f.d.StopTask(f.ctx, t.ID, patience, "") },
		func() error { return f.d.DestroyTask(t.ID, true) },
	}
	if d, ok := f.d.(drivers.StatsCollector); ok {
		calls = append(calls, func() error {
			ch, err := d.TaskStats(ctx, t.ID, time.Millisecond)
			if err == nil {
				<-ch
			}
			return err
		})
	}
	var wg sync.WaitGroup
	for range 4 {
		for _, call := range calls {
			wg.Go(func() {
				if err := call(); err != nil && !errors.Is(err, drivers.ErrTaskNotFound) {
					f.Error(err)
				}
			})
		}
	}
	wg.Wait()
	f.mustBeUnknown(t.ID)
}

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
