package docker_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker"
	"taskrun/drivers/docker/dockertest"
	"taskrun/drivers/drivertest"
)

// twoLines writes a line, waits for letGo, and writes another.
const twoLines = `echo one; while [ ! -e /alloc/data/go ]; do sleep 0.05; done; echo two; exit 3`

func letGo(t *testing.T, cfg *drivers.TaskConfig) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(cfg.AllocDir, "alloc", "data"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cfg.AllocDir, "alloc", "data", "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func result(t *testing.T, d *docker.Driver, id string) *drivers.ExitResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ch, err := d.WaitTask(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	r := <-ch
	if r == nil {
		t.Fatal("there is no result")
	}
	return r
}

// TestRecover recovers a task in another instance of the driver, by its state or by
// its config, while it runs or when it has ended.
func TestRecover(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		intended, ended bool
	}{
		{name: "running"},
		{name: "running, the start was only intended", intended: true},
		{name: "ended", ended: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dockertest.Need(t)
			first := docker.New(docker.Config{})
			cfg, output := drivertest.Task(t, first, dockertest.Shell(twoLines))
			handle, _, err := first.StartTask(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = first.Shutdown(context.Background()) })
			if err := output.Await(t.Context(), "one\n"); err != nil {
				t.Fatal(err)
			}
			rest := drivertest.NewOutput()
			again := *cfg
			again.Output = rest
			known := *handle
			known.Config = &again
			if c.intended {
				known.DriverState = nil
			}
			if c.ended {
				letGo(t, cfg)
				result(t, first, cfg.ID)
				// Simulate that the first one was killed before it read the
				// second line.
				readOnly(t, cfg, "one")
			}
			second := docker.New(docker.Config{})
			t.Cleanup(func() {
				if _, err := second.Shutdown(context.Background()); err != nil {
					t.Error(err)
				}
			})
			if err := second.RecoverTask(&known); err != nil {
				t.Fatal(err)
			}
			if !c.ended {
				letGo(t, cfg)
			}
			if r := result(t, second, cfg.ID); r.ExitCode != 3 {
				t.Errorf("the result is %+v", r)
			}
			if stdout, _, err := rest.All(t.Context()); stdout != "two\n" || err != nil {
				t.Errorf("the rest of the output is %q, %v", stdout, err)
			}
			if err := second.DestroyTask(cfg.ID, false); err != nil {
				t.Error(err)
			}
			if err := second.RecoverTask(&known); !errors.Is(err, drivers.ErrTaskNotFound) {
				t.Errorf("a destroyed task was recovered: %v", err)
			}
		})
	}
}

// readOnly sets the mark of a task back to after a line that it wrote.
func readOnly(t *testing.T, cfg *drivers.TaskConfig, line string) {
	t.Helper()
	cli := dockertest.Need(t)
	logs, err := cli.ContainerLogs(t.Context(), "task-"+cfg.AllocID, client.ContainerLogsOptions{ShowStdout: true, Timestamps: true})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	at := timeOf(t, logs, line)
	name := filepath.Join(cfg.TaskDir(), "private", ".docker-read")
	if err := os.WriteFile(name, []byte(at), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	d, cfg := startForever(t, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ch, err := d.TaskStats(ctx, cfg.ID, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 2; {
		s := <-ch
		if s == nil || s.ResourceUsage.MemoryStats.Usage == 0 || s.Processes < 1 || s.Timestamp == 0 || len(s.ResourceUsage.CpuStats.Measured) == 0 {
			t.Fatalf("the sample is %+v", s)
		}
		if s.Processes > 1 { // the shell has no child before it starts one
			n++
		}
	}
	if err := d.StopTask(ctx, cfg.ID, 5*time.Second, ""); err != nil {
		t.Fatal(err)
	}
	for range ch { // until it is closed
	}
	if ctx.Err() != nil {
		t.Error("the stream did not end with the task")
	}
}

// timeOf returns when a container wrote a line, in nanoseconds since 1970, from
// its logs with timestamps.
func timeOf(t testing.TB, logs io.Reader, line string) string {
	t.Helper()
	var text bytes.Buffer
	if _, err := stdcopy.StdCopy(&text, &text, logs); err != nil {
		t.Fatal(err)
	}
	for entry := range strings.Lines(text.String()) {
		at, rest, _ := strings.Cut(entry, " ")
		if strings.TrimSpace(rest) == line {
			parsed, err := time.Parse(time.RFC3339Nano, at)
			if err != nil {
				t.Fatal(err)
			}
			return strconv.FormatInt(parsed.UnixNano(), 10)
		}
	}
	t.Fatalf("the logs lack %q", line)
	return ""
}
