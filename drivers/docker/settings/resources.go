package settings

import (
	"cmp"
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

// resources returns the limits of a container and its devices.
func resources(cfg *drivers.TaskConfig, c *Config) (container.Resources, error) {
	limit, reservation := memory(cfg.Resources, c.MemoryHardLimit)
	if own := c.MemoryReservation; own > 0 && (reservation == 0 || own < reservation) {
		reservation = own
	}
	r := container.Resources{
		Memory:            limit,
		MemoryReservation: reservation,
		MemorySwap:        limit, // memory and swap together: no swap
		MemorySwappiness:  c.MemorySwappiness,
		CpusetCpus:        c.CpusetCPUs,
	}
	if limit > 0 && c.MemorySwap != 0 {
		r.MemorySwap = c.MemorySwap
	}
	if limit > 0 && c.MemoryReservation > limit {
		return r, fmt.Errorf("memory_reservation is more than the task's memory of %d MiB", limit>>20)
	}
	if limit > 0 && reservation > limit {
		return r, fmt.Errorf("task memory requirements exceed driver hard limit of %d MB", c.MemoryHardLimit)
	}
	if r.CpusetCpus == "" {
		r.CpusetCpus = strings.Trim(strings.ReplaceAll(fmt.Sprint(cfg.Resources.Cores), " ", ","), "[]") // empty: any
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

// cpuShares returns the weight of a container with the given MHz: one share for
// each MHz or, on a machine with more MHz than there are shares, in proportion.
func cpuShares(mhz, machine int) int64 {
	if machine >= maxShares {
		mhz = int(float64(mhz) / float64(machine) * maxShares)
	}
	return int64(min(max(mhz, minShares), maxShares))
}

// minQuota is the minimum of the kernel, in microseconds.
const minQuota = 1000

// cpuQuota returns the part of each period, in microseconds, that corresponds
// to the given MHz on cores of the given speed.
func cpuQuota(mhz int, coreMHz float64, period int64) int64 {
	return max(minQuota, int64(float64(mhz)/max(coreMHz, 1)*float64(period)))
}

// memory returns the limit and the reservation in bytes, or 0 for none. If
// there is a hard limit, the memory of the job is the reservation.
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

// devicePermissions are Nomad's default.
const devicePermissions = "rwm"

// devices returns the devices of the config block, then those of device hooks.
func devices(cfg *drivers.TaskConfig, c *Config) (list []container.DeviceMapping, err error) {
	for _, d := range c.Devices {
		if d.HostPath == "" {
			return nil, errors.New("host path must be set in configuration for devices")
		}
		list = append(list, container.DeviceMapping{
			PathOnHost:        d.HostPath,
			PathInContainer:   cmp.Or(d.ContainerPath, d.HostPath),
			CgroupPermissions: cmp.Or(d.CgroupPermissions, devicePermissions),
		})
	}
	for _, d := range cfg.Devices {
		list = append(list, container.DeviceMapping{
			PathOnHost:        d.HostPath,
			PathInContainer:   d.TaskPath,
			CgroupPermissions: cmp.Or(d.Permissions, devicePermissions),
		})
	}
	return list, nil
}

// securityOptions replaces the path of a seccomp profile with its text, as the
// docker command does: the engine cannot read the file.
func securityOptions(options []string) ([]string, error) {
	var all []string
	for _, o := range options {
		key, value, ok := strings.Cut(o, "=")
		if !ok {
			key, value, ok = strings.Cut(o, ":") // the old separator
		}
		if ok && key == "seccomp" && value != "unconfined" && value != "builtin" {
			profile, err := os.ReadFile(value)
			if err != nil {
				return nil, fmt.Errorf("opening seccomp profile (%s) failed: %w", value, err)
			}
			if !json.Valid(profile) {
				return nil, fmt.Errorf("seccomp profile %q is not JSON", value)
			}
			o = "seccomp=" + string(profile)
		}
		all = append(all, o)
	}
	return all, nil
}
