package runner_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine/runner"
	"taskrun/jobspec/taskenv"
)

// eater is the mock driver with tasks that have used memory.
type eater struct {
	*mock.Driver
	rss, peak int64
	enforces  bool
}

func (d *eater) EnforceMemory() error { return nil }
func (d *eater) EnforcesMemory() bool { return d.enforces }

func (d *eater) WaitTask(ctx context.Context, id string) (<-chan *drivers.ExitResult, error) {
	ch, err := d.Driver.WaitTask(ctx, id)
	if err != nil {
		return nil, err
	}
	ended := make(chan *drivers.ExitResult, 1)
	go func() {
		if r := <-ch; r != nil {
			r.PeakMemory = d.peak
			ended <- r
		}
		close(ended)
	}()
	return ended, nil
}

// TaskStats reports two processes; one is large, and shares its memory with the
// other.
func (d *eater) TaskStats(context.Context, string, time.Duration) (<-chan *drivers.TaskResourceUsage, error) {
	process := &api.ResourceUsage{MemoryStats: &api.MemoryStats{RSS: uint64(d.rss)}, CpuStats: &api.CpuStats{Percent: 25}}
	u := &drivers.TaskResourceUsage{Processes: 2}
	u.Pids = map[string]*api.ResourceUsage{"1": process, "2": process}
	u.ResourceUsage = drivers.SumUsage(process, process)
	ch := make(chan *drivers.TaskResourceUsage, 1)
	ch <- u
	close(ch)
	return ch, nil
}

const mib = 1 << 20

// A task that exceeds its memory limit is reported once per start, whether it
// is noticed while the task is running or at its end.
func TestMemoryAboveTheLimit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		eater eater
		want  []string
	}{
		"below":             {eater{rss: 9 * mib, peak: 10 * mib}, nil},
		"while it runs":     {eater{rss: 12*mib + 1}, []string{"Memory peaked at 13 MiB: would have been OOM-killed at 10 MiB"}},
		"in the end":        {eater{peak: 20 * mib}, []string{"Memory peaked at 20 MiB: would have been OOM-killed at 10 MiB"}},
		"both":              {eater{rss: 15 * mib, peak: 20 * mib}, []string{"Memory peaked at 15 MiB: would have been OOM-killed at 10 MiB"}},
		"limits are limits": {eater{rss: 15 * mib, peak: 20 * mib, enforces: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				task := mockTask(map[string]any{"run_for": "1h", "exit_code": 1}, 1)
				task.Resources = &api.Resources{MemoryMB: new(10)}
				s := newSetting(t, task, nil)
				tt.eater.Driver = s.driver
				s.config.Drivers["mock_driver"] = &tt.eater
				s.alloc = runner.New(s.config)
				go s.alloc.Run(t.Context())
				var want []string
				for range 2 { // starts
					synctest.Wait()
					for range 2 {
						s.alloc.Stats(t.Context(), "")
					}
					pass(time.Hour + time.Minute)
					want = append(want, tt.want...)
				}
				synctest.Wait()
				got := slices.DeleteFunc(s.taskEvents(), func(text string) bool { return !strings.HasPrefix(text, "Memory") })
				if !slices.Equal(got, want) {
					t.Errorf("it was told %q, not %q", got, want)
				}
			})
		})
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(map[string]any{"run_for": "1h"}, 0), nil)
		s.config.Drivers["mock_driver"] = &eater{Driver: s.driver, rss: 5}
		s.config.Node = &taskenv.Node{Attributes: map[string]string{"cpu.numcores": "4", "cpu.totalcompute": "8000"}}
		s.alloc = runner.New(s.config)
		go s.alloc.Run(t.Context())
		synctest.Wait()
		u := s.alloc.Stats(t.Context(), "t")["t"]
		if u == nil || u.ResourceUsage.MemoryStats.RSS != 10 || u.ResourceUsage.CpuStats.TotalTicks != 1000 {
			t.Errorf("it uses %+v", u)
		}
		if others := s.alloc.Stats(t.Context(), "another"); len(others) != 0 {
			t.Errorf("another task uses %v", others)
		}
		s.alloc.Stop()
	})
}
