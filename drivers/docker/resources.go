package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	units "github.com/docker/go-units"
	"github.com/moby/moby/api/types/container"

	"taskrun/drivers"
	"taskrun/jobspec/taskenv"
)

// The kernel's bounds of cpu.shares.
const (
	minShares = 2
	maxShares = 262144
)

// resources are the limits of a container, and its devices.
func resources(cfg *drivers.TaskConfig, c *taskConfig) (container.Resources, error) {
	limit, reservation := memory(cfg.Resources, c.MemoryHardLimit)
	r := container.Resources{
		Memory:            limit,
		MemoryReservation: reservation,
		MemorySwap:        limit, // memory and swap together: no swap
		CpusetCpus:        c.CpusetCPUs,
	}
	if limit > 0 && reservation > limit {
		return r, fmt.Errorf("task memory requirements exceed driver hard limit of %d MB", c.MemoryHardLimit)
	}
	if r.CpusetCpus == "" {
		r.CpusetCpus = cpuset(cfg.Resources.Cores)
	}
	node, cpu := taskenv.Fingerprint(), cfg.Resources.CPU
	if cpu > 0 {
		total, _ := node.Attribute("cpu.totalcompute")
		machine, _ := strconv.Atoi(total) // taskenv made it
		r.CPUShares = cpuShares(cpu, machine)
	}
	if c.CPUHardLimit {
		if c.CPUCFSPeriod < 0 || c.CPUCFSPeriod > 1_000_000 { // microseconds
			return r, errors.New("invalid value for cpu_cfs_period")
		}
		r.CPUPeriod = c.CPUCFSPeriod
		r.CPUQuota = cpuQuota(cpu, node.CoreMHz(), c.CPUCFSPeriod)
	}
	if c.PidsLimit > 0 {
		r.PidsLimit = &c.PidsLimit
	}
	ulimits := merge(c.Ulimit)
	for _, name := range sortedKeys(ulimits) {
		limit, err := units.ParseUlimit(name + "=" + ulimits[name])
		if err != nil {
			return r, fmt.Errorf("failed to parse ulimit configuration: Malformed ulimit %v: %w", name, err)
		}
		r.Ulimits = append(r.Ulimits, limit)
	}
	var err error
	r.Devices, err = devices(cfg, c)
	return r, err
}

// cpuset returns the CPUs with these numbers as the engine takes them; empty
// for any.
func cpuset(cores []int) string {
	list := make([]string, len(cores))
	for i, id := range cores {
		list[i] = strconv.Itoa(id)
	}
	return strings.Join(list, ",")
}

// cpuShares returns the weight of a container that is to have so many MHz of
// those of the machine: as many shares, or on a machine that has more MHz than
// there can be shares, its part of them.
func cpuShares(mhz, machine int) int64 {
	if machine >= maxShares {
		mhz = int(float64(mhz) / float64(machine) * maxShares)
	}
	return int64(min(max(mhz, minShares), maxShares))
}

// minQuota is the least that the kernel takes, in microseconds.
const minQuota = 1000

// cpuQuota returns the part of each period, in microseconds, that is worth so
// many MHz on cores of a speed.
func cpuQuota(mhz int, coreMHz float64, period int64) int64 {
	return max(minQuota, int64(float64(mhz)/max(coreMHz, 1)*float64(period)))
}

// memory returns the limit and the reservation in bytes, 0 for none. With a
// limit of its own, what the job asks for becomes the reservation.
func memory(r drivers.Resources, hardMB int64) (limit, reservation int64) {
	asked := int64(r.MemoryMB) << 20
	switch hard := max(hardMB, int64(r.MemoryMaxMB)) << 20; {
	case r.MemoryMaxMB < 0:
		return 0, asked
	case hard > 0:
		return hard, asked
	default:
		return asked, 0
	}
}

func devices(cfg *drivers.TaskConfig, c *taskConfig) (list []container.DeviceMapping, err error) {
	for _, d := range c.Devices {
		if d.HostPath == "" {
			return nil, errNoDevice
		}
		list = append(list, container.DeviceMapping{
			PathOnHost:        d.HostPath,
			PathInContainer:   orElse(d.ContainerPath, d.HostPath),
			CgroupPermissions: orElse(d.CgroupPermissions, defaultDevicePermissions),
		})
	}
	for _, d := range cfg.Devices {
		list = append(list, container.DeviceMapping{
			PathOnHost:        d.HostPath,
			PathInContainer:   d.TaskPath,
			CgroupPermissions: orElse(d.Permissions, defaultDevicePermissions),
		})
	}
	return list, nil
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// securityOptions puts the text of a seccomp profile in the place of its file,
// as the docker command does: the engine cannot read it.
func securityOptions(options []string) ([]string, error) {
	var all []string
	for _, o := range options {
		key, value, ok := strings.Cut(o, "=")
		if !ok {
			key, value, ok = strings.Cut(o, ":") // as it was written once
		}
		if ok && key == "seccomp" && value != "unconfined" && value != "builtin" {
			profile, err := os.ReadFile(value)
			if err != nil {
				return nil, fmt.Errorf("opening seccomp profile (%s) failed: %w", value, err)
			}
			if !json.Valid(profile) {
				return nil, fmt.Errorf("seccomp profile %q is no JSON", value)
			}
			o = "seccomp=" + string(profile)
		}
		all = append(all, o)
	}
	return all, nil
}

var _ drivers.MemoryEnforcer = (*Driver)(nil)

// EnforceMemory does nothing: the engine enforces the limits of all containers.
func (d *Driver) EnforceMemory() error { return nil }

// EnforcesMemory reports that it does.
func (d *Driver) EnforcesMemory() bool { return true }
