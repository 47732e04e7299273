package taskenv

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// host is empty on macOS: attributes come from the kernel, sysctl(3).
type host struct{}

func thisHost() *host { return &host{} }

// groups returns the readers of attributes by the first step of their names.
func (h *host) groups() map[string]reader {
	return map[string]reader{
		"kernel": h.kernel,
		"os":     h.os,
		"cpu":    h.cpu,
		"memory": h.memory,
		"unique": h.unique,
	}
}

// machineID returns "": the hardware's UUID is only available from ioreg(8).
func (*host) machineID() string { return "" }

func (*host) kernel(string) map[string]string {
	return map[string]string{
		"kernel.name":    runtime.GOOS,
		"kernel.arch":    sysctl("hw.machine"),
		"kernel.version": sysctl("kern.osrelease"),
	}
}

func (*host) os(string) map[string]string {
	return map[string]string{
		"os.name":    runtime.GOOS,
		"os.version": sysctl("kern.osproductversion"),
		"os.signals": SignalNames,
	}
}

// usableCores returns nil: macOS cannot restrict a task to some cores.
func (*host) usableCores() []Core { return nil }

// cpu assumes 1000 MHz per core if the speed is unknown, as on Apple's own
// chips. As in Nomad, cores cannot be reserved on macOS.
func (*host) cpu(string) map[string]string {
	cores, _ := unix.SysctlUint32("hw.ncpu")
	hz, _ := unix.SysctlUint64("hw.cpufrequency")
	mhz := int(cmp.Or(hz/1_000_000, 1000))
	compute := strconv.Itoa(int(cores) * mhz)
	attrs := map[string]string{
		"cpu.arch":            runtime.GOARCH,
		"cpu.numcores":        strconv.Itoa(int(cores)),
		"cpu.reservablecores": "0",
		"cpu.frequency":       strconv.Itoa(mhz),
		"cpu.totalcompute":    compute,
		"cpu.usablecompute":   compute,
	}
	if model := sysctl("machdep.cpu.brand_string"); model != "" {
		attrs["cpu.modelname"] = model
	}
	return attrs
}

func (*host) memory(string) map[string]string {
	size, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return nil
	}
	return map[string]string{"memory.totalbytes": strconv.FormatUint(size, 10)}
}

func (*host) unique(dataDir string) map[string]string {
	attrs := map[string]string{}
	if name, err := os.Hostname(); err == nil {
		attrs["unique.hostname"] = name
	}
	if address := localAddress(""); address != "" {
		attrs["unique.network.ip-address"] = address
	}
	dir, err := filepath.Abs(dataDir)
	var s unix.Statfs_t
	if err == nil && unix.Statfs(dir, &s) == nil {
		attrs["unique.storage.volume"] = unix.ByteSliceToString(s.Mntfromname[:])
		attrs["unique.storage.bytestotal"] = strconv.FormatUint(s.Blocks*uint64(s.Bsize), 10)
	}
	return attrs
}

func sysctl(name string) string {
	value, _ := unix.Sysctl(name)
	return value
}
