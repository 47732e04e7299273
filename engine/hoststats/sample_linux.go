package hoststats

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"
	"golang.org/x/sys/unix"
)

// Sample takes a sample. It includes only the disk with the given directory.
// The error is errors.ErrUnsupported if this system cannot be measured.
func (s *Sampler) Sample(dir string) (*api.HostStats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	proc := os.DirFS("/proc")
	memory, err := memory(proc)
	if err != nil {
		return nil, err
	}
	stats := &api.HostStats{Memory: memory, DeviceStats: []*api.DeviceGroupStats{}}
	if stats.CPU, err = s.cpus(proc); err != nil {
		return nil, err
	}
	if stats.AllocDirStats, err = disk(proc, dir); err != nil {
		return nil, err
	}
	stats.DiskStats = []*api.HostDiskStats{stats.AllocDirStats}
	uptime, err := fs.ReadFile(proc, "uptime")
	if err != nil {
		return nil, err
	}
	seconds, _, _ := strings.Cut(string(uptime), ".")
	stats.Uptime, err = strconv.ParseUint(seconds, 10, 64)
	return stats, err
}

// memory parses meminfo; see proc_meminfo(5).
func memory(proc fs.FS) (*api.HostMemoryStats, error) {
	text, err := fs.ReadFile(proc, "meminfo")
	if err != nil {
		return nil, err
	}
	known := map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if fields := strings.Fields(value); len(fields) > 0 {
			n, _ := strconv.ParseUint(fields[0], 10, 54) // 0 if it is not a number
			known[name] = n << 10
		}
	}
	m := &api.HostMemoryStats{Total: known["MemTotal"], Available: known["MemAvailable"], Free: known["MemFree"]}
	m.Used = m.Total - min(m.Available, m.Total)
	return m, nil
}

// cpus parses stat, which has a line for each CPU: user, nice, system, idle,
// iowait, irq, softirq, steal; see proc_stat(5).
func (s *Sampler) cpus(proc fs.FS) (list []*api.HostCPUStats, err error) {
	text, err := fs.ReadFile(proc, "stat")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu") || fields[0] == "cpu" {
			continue
		}
		var n [8]float64
		for i := range n {
			if n[i], err = strconv.ParseFloat(fields[i+1], 64); err != nil {
				return nil, fmt.Errorf("cannot read the times of %s: %w", fields[0], err)
			}
		}
		list = append(list, s.used(fields[0], times{
			user: n[0] + n[1], system: n[2] + n[5] + n[6], idle: n[3] + n[4],
			all: n[0] + n[1] + n[2] + n[3] + n[4] + n[5] + n[6] + n[7],
		}))
	}
	return list, nil
}

// disk measures the file system that contains a directory.
func disk(proc fs.FS, dir string) (*api.HostDiskStats, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return nil, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	block := uint64(st.Bsize)
	d := &api.HostDiskStats{Size: st.Blocks * block, Available: st.Bavail * block, Used: (st.Blocks - st.Bfree) * block}
	if all := d.Used + d.Available; all > 0 {
		d.UsedPercent = 100 * float64(d.Used) / float64(all)
	}
	if st.Files > 0 {
		d.InodesUsedPercent = 100 * float64(st.Files-st.Ffree) / float64(st.Files)
	}
	var err error
	d.Device, d.Mountpoint, err = mounted(proc, dir)
	return d, err
}

// mounted finds the file system that contains a directory; see
// proc_pid_mountinfo(5).
func mounted(proc fs.FS, dir string) (device, point string, err error) {
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", "", err
	}
	text, err := fs.ReadFile(proc, "self/mountinfo")
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(line, " - ")
		mount, source := strings.Fields(before), strings.Fields(after)
		if len(mount) < 5 || len(source) < 2 {
			continue
		}
		at := unescape.Replace(mount[4])
		if rel, err := filepath.Rel(at, dir); err == nil && filepath.IsLocal(rel) && len(at) >= len(point) {
			device, point = source[1], at
		}
	}
	return device, point, nil
}

var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
