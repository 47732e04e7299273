package rawexec_test

import (
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/drivertest"
	"taskrun/drivers/rawexec"
)

// BenchmarkTask measures a task from StartTask to the end of DestroyTask;
// BenchmarkExec measures the same process with package os/exec.
func BenchmarkTask(b *testing.B) {
	d := rawexec.New()
	defer d.Shutdown(b.Context())
	cfg, output := drivertest.Task(b, d, `command = "/bin/true"`)
	for b.Loop() {
		if _, _, err := d.StartTask(b.Context(), cfg); err != nil {
			b.Fatal(err)
		}
		ch, err := d.WaitTask(b.Context(), cfg.ID)
		if err != nil {
			b.Fatal(err)
		}
		<-ch
		if err := d.DestroyTask(cfg.ID, true); err != nil {
			b.Fatal(err)
		}
	}
	if _, _, err := output.All(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStart measures StartTask alone.
func BenchmarkStart(b *testing.B) {
	d := rawexec.New()
	defer d.Shutdown(b.Context())
	cfg, _ := drivertest.Task(b, d, `command = "/bin/true"`)
	cfg.Output = noOutput{}
	for b.Loop() {
		if _, _, err := d.StartTask(b.Context(), cfg); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := d.DestroyTask(cfg.ID, true); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkExecStart(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command("/bin/true")
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		cmd.Wait()
		b.StartTimer()
	}
}

func BenchmarkExec(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkThousandTasks starts a thousand tasks, one after the other, and
// stops them all together.
func BenchmarkThousandTasks(b *testing.B) {
	d := rawexec.New()
	defer d.Shutdown(b.Context())
	var tasks []*drivers.TaskConfig
	for range 1000 {
		cfg, _ := drivertest.Task(b, d, "command = \"/bin/sleep\"\nargs = [\"1000\"]\n")
		cfg.Output = noOutput{}
		tasks = append(tasks, cfg)
	}
	var starting time.Duration
	for b.Loop() {
		begin := time.Now()
		for _, cfg := range tasks {
			if _, _, err := d.StartTask(b.Context(), cfg); err != nil {
				b.Fatal(err)
			}
		}
		starting += time.Since(begin)
		var stopping sync.WaitGroup
		for _, cfg := range tasks {
			stopping.Go(func() {
				if err := d.StopTask(b.Context(), cfg.ID, time.Minute, "SIGTERM"); err != nil {
					b.Error(err)
				}
				if err := d.DestroyTask(cfg.ID, true); err != nil {
					b.Error(err)
				}
			})
		}
		stopping.Wait()
	}
	b.ReportMetric(float64(starting.Milliseconds())/float64(b.N), "ms-starting/op")
}

// noOutput discards output.
type noOutput struct{ drivers.Output }

func (noOutput) Files() (stdout, stderr *os.File, err error) { return nil, nil, nil }
