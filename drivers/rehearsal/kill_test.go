package rehearsal

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/mock"
)

// play starts a task with a script in a role, ends it, and returns how it ended.
func play(t *testing.T, role string, s Script, end func(d *Driver, cfg *drivers.TaskConfig)) drivers.ExitResult {
	t.Helper()
	d := New(Role{Name: role}, func(*drivers.TaskConfig) Script { return s })
	cfg := &drivers.TaskConfig{ID: "id", AllocID: "alloc", Name: "t", Output: discard{}, Config: cty.EmptyObjectVal}
	if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	ended, err := d.WaitTask(t.Context(), cfg.ID)
	if err != nil {
		t.Fatal(err)
	}
	end(d, cfg)
	return *<-ended
}

// A task that is killed ends as a killed process does; one that ends in time, as
// its script says, and so does every task of mock_driver itself.
func TestKill(t *testing.T) {
	t.Parallel()
	killed, own := drivers.ExitResult{ExitCode: 137, Signal: 9}, drivers.ExitResult{ExitCode: 7}
	stop := func(timeout time.Duration, signal string) func(*Driver, *drivers.TaskConfig) {
		return func(d *Driver, cfg *drivers.TaskConfig) {
			if err := d.StopTask(context.Background(), cfg.ID, timeout, signal); err != nil {
				panic(err)
			}
		}
	}
	for name, c := range map[string]struct {
		killAfter string
		end       func(*Driver, *drivers.TaskConfig)
		want      drivers.ExitResult
		took      time.Duration
	}{
		"it obeys":             {"", stop(time.Minute, "SIGTERM"), own, 0},
		"in time":              {"5s", stop(time.Minute, ""), own, 5 * time.Second},
		"at the last moment":   {"5s", stop(5*time.Second, ""), own, 5 * time.Second},
		"too late":             {"1h", stop(30*time.Minute, "SIGTERM"), killed, 30 * time.Minute},
		"no time":              {"", stop(0, ""), killed, 0},
		"SIGKILL is the order": {"1h", stop(time.Minute, "SIGKILL"), killed, 0},
		"the engine gives up": {"1h", func(d *Driver, cfg *drivers.TaskConfig) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = d.StopTask(ctx, cfg.ID, time.Minute, "")
		}, killed, time.Second},
		"destroyed": {"", func(d *Driver, cfg *drivers.TaskConfig) { _ = d.DestroyTask(cfg.ID, true) }, killed, 0},
		"signal 9":  {"", func(d *Driver, cfg *drivers.TaskConfig) { _ = d.SignalTask(cfg.ID, "SIGKILL") }, killed, 0},
		"other signals": {"", func(d *Driver, cfg *drivers.TaskConfig) {
			_ = d.SignalTask(cfg.ID, "SIGTERM")
			<-time.After(time.Second)
			stop(time.Minute, "")(d, cfg)
		}, own, time.Second},
		"it has ended before": {"1h", func(d *Driver, cfg *drivers.TaskConfig) {
			<-time.After(2 * time.Hour)
			_ = d.DestroyTask(cfg.ID, true)
		}, own, 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := Script{Options: object("run_for", cty.StringVal("90m"), "exit_code", cty.NumberIntVal(7), "kill_after", cty.StringVal(c.killAfter))}
				began := time.Now()
				if result := play(t, "docker", s, c.end); result != c.want {
					t.Errorf("it ended with %+v, not %+v", result, c.want)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("that took %v, not %v", took, c.took)
				}
				if name == "signal 9" { // which mock_driver ignores
					return
				}
				if result := play(t, "mock_driver", s, c.end); result != own {
					t.Errorf("as mock_driver it ended with %+v", result)
				}
			})
		})
	}
}

// The mock of mock_driver plays the config block of its task.
func TestTheRoleOfMockDriver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := New(RoleOf(mock.New()), func(*drivers.TaskConfig) Script { return Script{Lag: Lag{Start: 4, Run: 6}} })
		cfg := &drivers.TaskConfig{ID: "id", Name: "t", Output: discard{}, Config: object("run_for", cty.StringVal("3s"), "exit_code", cty.NumberIntVal(4))}
		began := time.Now()
		if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		ended, err := d.WaitTask(t.Context(), cfg.ID)
		if err != nil {
			t.Fatal(err)
		}
		if r := <-ended; r.ExitCode != 4 || time.Since(began) != 3*time.Second+10 {
			t.Errorf("it ended with %+v after %v", r, time.Since(began))
		}
	})
}
