package mock_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/drivertest"
	"taskrun/drivers/mock"
)

func TestRecover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := mock.New()
		cfg, _ := drivertest.Task(t, d, "run_for = \"6s\"\nexit_code = 3")
		begin := time.Now()
		handle, _, err := d.StartTask(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second)
		if err := d.RecoverTask(handle); err != nil { // it is known, and runs on
			t.Error(err)
		}
		later := mock.New()
		if err := later.RecoverTask(handle); err != nil {
			t.Fatal(err)
		}
		for _, d := range []*mock.Driver{later, d} {
			if result := wait(t, d, cfg); result.ExitCode != 3 || time.Since(begin) != 6*time.Second {
				t.Errorf("after %v the result is %+v", time.Since(begin), result)
			}
		}
		// One whose time is over ends at once.
		if later = mock.New(); later.RecoverTask(handle) != nil || wait(t, later, cfg).ExitCode != 3 || time.Since(begin) != 6*time.Second {
			t.Error("a task whose time was over went on")
		}
	})
}

// The plugin exits every second, and the task runs for as long as it should.
func TestRecoverAfterPluginExit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := mock.New()
		cfg, _ := drivertest.Task(t, d, "run_for = \"3500ms\"\nplugin_exit_after = \"1s\"")
		begin := time.Now()
		handle, _, err := d.StartTask(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for exits := 0; ; exits++ {
			result := wait(t, d, cfg)
			if result.Err == nil {
				if exits != 3 || time.Since(begin) != 3500*time.Millisecond {
					t.Errorf("after %v and %d exits", time.Since(begin), exits)
				}
				return
			}
			if !errors.Is(result.Err, drivers.ErrPluginShutdown) || d.RecoverTask(handle) != nil {
				t.Fatalf("the result is %+v", result)
			}
		}
	})
}

func TestRecoverWhatCannotBe(t *testing.T) {
	t.Parallel()
	d := mock.New()
	cfg, _ := drivertest.Task(t, d, "")
	if err := d.RecoverTask(nil); err == nil {
		t.Error("nothing was recovered")
	}
	if err := d.RecoverTask(&drivers.TaskHandle{Config: cfg}); !errors.Is(err, drivers.ErrTaskNotFound) {
		t.Errorf("a task that was perhaps never started: %v", err)
	}
	if err := d.RecoverTask(&drivers.TaskHandle{Config: cfg, DriverState: []byte("{")}); err == nil || errors.Is(err, drivers.ErrTaskNotFound) {
		t.Errorf("a state that cannot be read: %v", err)
	}
	if _, err := d.InspectTask(cfg.ID); !errors.Is(err, drivers.ErrTaskNotFound) {
		t.Errorf("it is known: %v", err)
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, cfg := begin(t, `run_for = "3500ms"`)
		ch, err := d.TaskStats(t.Context(), cfg.ID, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		begin, n := time.Now(), 0
		for s := range ch {
			if at := time.Unix(0, s.Timestamp).Sub(begin); at != time.Duration(n)*time.Second || s.ResourceUsage.MemoryStats.RSS == 0 {
				t.Errorf("after %v: %+v", at, s)
			}
			n++
		}
		if n != 4 || time.Since(begin) != 3500*time.Millisecond {
			t.Errorf("%d samples in %v", n, time.Since(begin))
		}
	})
}
