package hoststats

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestMemory(t *testing.T) {
	t.Parallel()
	got, err := memory(fstest.MapFS{"meminfo": file("MemTotal:  100 kB\nMemFree: 20 kB\nMemAvailable: 60 kB\nHugePages_Total: x\n")})
	want := &api.HostMemoryStats{Total: 100 << 10, Free: 20 << 10, Available: 60 << 10, Used: 40 << 10}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestCPUUsageSincePreviousSample(t *testing.T) {
	t.Parallel()
	var s Sampler
	for _, step := range []struct {
		stat string
		want api.HostCPUStats
	}{
		{"cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 10 10 50 10 5 5 0 0 0\nintr 1\n", api.HostCPUStats{CPU: "cpu0", User: 20, System: 20, Idle: 60}},
		{"cpu0 60 10 10 100 10 5 5 0 0 0\n", api.HostCPUStats{CPU: "cpu0", User: 50, Idle: 50}},
		{"cpu0 60 10 10 100 10 5 5 0 0 0\n", api.HostCPUStats{CPU: "cpu0", Idle: 100}},
	} {
		got, err := s.cpus(fstest.MapFS{"stat": file(step.stat)})
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		if diff := cmp.Diff(step.want, *got[0]); diff != "" {
			t.Error(diff)
		}
	}
}

// Times that are no numbers, and files that are not there, are errors.
func TestUnreadableTimes(t *testing.T) {
	t.Parallel()
	var s Sampler
	if got, err := s.cpus(fstest.MapFS{"stat": file("cpu0 1 2 3 4 5 x 7 8\n")}); err == nil || !strings.HasPrefix(err.Error(), "cannot read the times of cpu0: ") || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := s.cpus(fstest.MapFS{"stat": file("cpu0 1 2 3 4 5 6 7\ncpu1 1 2 3 4 5 6 7 8\n")}); err != nil || len(got) != 1 || got[0].CPU != "cpu1" {
		t.Errorf("a line that is cut off: %v, %v", got, err)
	}
	_, err := s.cpus(fstest.MapFS{})
	_, memoryErr := memory(fstest.MapFS{})
	if !errors.Is(err, fs.ErrNotExist) || !errors.Is(memoryErr, fs.ErrNotExist) {
		t.Errorf("without files: %v, %v", err, memoryErr)
	}
}

func TestMounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	proc := fstest.MapFS{"self/mountinfo": file("1 0 8:1 / / rw - ext4 /dev/root rw\n" +
		"2 1 0:5 / /tm rw - tmpfs nothing rw\n" + // only a prefix of it
		"9 1\n9 1 0:8 / - tmpfs x rw\n9 1 0:8 / " + dir + "\n9 1 0:8 / " + dir + " - tmpfs\n" + // cut off
		"3 1 0:6 / " + dir + " - tmpfs own\n" + // no longer than it has to be
		"4 1 0:7 / " + dir + "/below rw - tmpfs below rw\n")}
	device, point, err := mounted(proc, dir)
	if device != "own" || point != dir || err != nil {
		t.Error(device, point, err)
	}
	if _, _, err := mounted(proc, filepath.Join(dir, "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is gone: %v", err)
	}
	if _, _, err := mounted(fstest.MapFS{}, dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a table of mounts: %v", err)
	}
}

func TestThisMachine(t *testing.T) {
	t.Parallel()
	var s Sampler
	got, err := s.Sample(t.TempDir())
	if err != nil || got.Memory.Total == 0 || got.Uptime == 0 || len(got.CPU) == 0 || got.AllocDirStats.Size == 0 || got.AllocDirStats.Mountpoint == "" {
		t.Errorf("%+v, %v", got, err)
	}
	d := got.AllocDirStats
	if used := d.UsedPercent / 100 * float64(d.Used+d.Available); math.Abs(used-float64(d.Used)) > 1 {
		t.Errorf("%g %% of %+v are used", d.UsedPercent, d)
	}
	if _, err := s.Sample("/nowhere/at/all"); err == nil {
		t.Error("a directory that is not there was measured")
	}
}

// A file system without blocks and files is empty, and not something that is no number.
func TestEmptyFileSystem(t *testing.T) {
	t.Parallel()
	d, err := disk(fstest.MapFS{"self/mountinfo": file("1 0 0:4 / / rw - proc proc rw\n")}, "/proc")
	if err != nil || d.Size != 0 || d.UsedPercent != 0 || d.InodesUsedPercent != 0 {
		t.Errorf("it is %+v, %v", d, err)
	}
}
