package runner_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine/runner"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// listener is the mock driver, and records the configs of its starts.
type listener struct {
	*mock.Driver
	last *drivers.TaskConfig
}

func (d *listener) StartTask(ctx context.Context, cfg *drivers.TaskConfig) (*drivers.TaskHandle, *drivers.Network, error) {
	d.last = cfg
	return d.Driver.StartTask(ctx, cfg)
}

func TestTaskConfigForTheDriver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gpu := drivers.Device{HostPath: "/dev/gpu", TaskPath: "/dev/gpu", Permissions: "rw"}
		devices := &recorder{name: "devices", prestart: func(_ context.Context, _ *hooks.PrestartRequest, r *hooks.PrestartResponse) error {
			r.Env, r.Devices = map[string]string{"GPU": "0"}, []drivers.Device{gpu}
			return nil
		}}
		other := &recorder{name: "other", prestart: func(_ context.Context, _ *hooks.PrestartRequest, r *hooks.PrestartResponse) error {
			r.Env = map[string]string{"OTHER": "1"}
			return nil
		}}
		s := newSetting(t, mockTask(map[string]any{"run_for": "1s"}, 0), nil, devices, other)
		d := &listener{Driver: s.driver}
		s.config.Drivers["mock_driver"] = d
		s.config.Node = &taskenv.Node{ID: "node-id", Name: "node-name"}
		s.config.Job.ParentID = new("parent")
		s.alloc = runner.New(s.config)
		s.alloc.Run(t.Context())
		got := d.last
		if got.Env["GPU"] != "0" || got.Env["OTHER"] != "1" {
			t.Errorf("the environment is %v", got.Env)
		}
		if diff := cmp.Diff([]drivers.Device{gpu}, got.Devices); diff != "" {
			t.Errorf("devices (-want +got):\n%s", diff)
		}
		if got.NodeID != "node-id" || got.NodeName != "node-name" || got.ParentJobID != "parent" || got.JobID != "job" {
			t.Errorf("it is told %+v", got)
		}
	})
}
