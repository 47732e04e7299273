package taskenv

import (
	"cmp"
	"fmt"
	"runtime"
	"strconv"
	"strings"
)

const (
	cpuFiles  = "sys/devices/system/cpu/"
	numaFiles = "sys/devices/system/node/"
)

type core struct {
	id, mhz  int
	threaded bool // shares its hardware with another one
}

func (h *host) cpus(string) map[string]string {
	model, guess := h.cpuinfo()
	cores := h.cores(guess)
	attrs := map[string]string{"cpu.arch": runtime.GOARCH}
	if model != "" {
		attrs["cpu.modelname"] = model
	}
	number := func(name string, n int) { attrs["cpu."+name] = strconv.Itoa(n) }
	var usable, compute, usableCompute int
	var performance, efficiency struct{ cores, mhz int }
	for _, c := range cores {
		compute += c.mhz
		if h.usable(c.id) {
			usable++
			usableCompute += c.mhz
		}
		kind := &efficiency
		if c.threaded {
			kind = &performance
		}
		kind.cores++
		kind.mhz = c.mhz
	}
	number("numcores", len(cores))
	number("reservablecores", usable)
	number("totalcompute", compute)
	number("usablecompute", usableCompute)
	if performance.cores > 0 && efficiency.cores > 0 {
		number("numcores.performance", performance.cores)
		number("numcores.efficiency", efficiency.cores)
		number("frequency.performance", performance.mhz)
		number("frequency.efficiency", efficiency.mhz)
	} else {
		number("frequency", max(performance.mhz, efficiency.mhz))
	}
	return attrs
}

// usableCores returns the CPUs that tasks may run on.
func (h *host) usableCores() (usable []Core) {
	_, guess := h.cpuinfo()
	for _, c := range h.cores(guess) {
		if h.usable(c.id) {
			usable = append(usable, Core{c.id, c.mhz})
		}
	}
	return usable
}

// cpuinfo returns the name of the CPU, and a speed in MHz for CPUs whose speed
// is otherwise unknown. Some architectures have neither.
func (h *host) cpuinfo() (model string, mhz int) {
	for key, value := range h.fields("proc/cpuinfo", ":") {
		switch key {
		case "model name":
			model = cmp.Or(model, value)
		case "cpu MHz":
			whole, _, _ := strings.Cut(value, ".")
			n, _ := strconv.Atoi(whole)
			mhz = cmp.Or(mhz, n)
		}
	}
	return model, cmp.Or(mhz, 1000)
}

// cores returns the CPUs that are online. The speed of each is its base speed,
// or else its maximum, or else guess.
func (h *host) cores(guess int) []core {
	ids := h.numbers(cpuFiles + "online")
	if len(ids) == 0 {
		for id := range runtime.NumCPU() {
			ids = append(ids, id)
		}
	}
	cores := make([]core, len(ids))
	for i, id := range ids {
		dir := fmt.Sprintf("%scpu%d/", cpuFiles, id)
		base := h.number(dir+"cpufreq/base_frequency") / 1000 // kHz
		if h.line(dir+"cpufreq/scaling_driver") == "acpi-cpufreq" {
			base = h.number(dir + "acpi_cppc/nominal_freq")
		}
		cores[i] = core{
			id:       id,
			mhz:      cmp.Or(base, h.number(dir+"cpufreq/cpuinfo_max_freq")/1000, guess),
			threaded: len(h.numbers(dir+"topology/thread_siblings_list")) > 1,
		}
	}
	return cores
}

func (h *host) numa(string) map[string]string {
	nodes := h.numbers(numaFiles + "online")
	if len(nodes) == 0 {
		return nil
	}
	attrs := map[string]string{"numa.node.count": strconv.Itoa(len(nodes))}
	for _, id := range nodes {
		key := fmt.Sprintf("numa.node%d.cores", id)
		attrs[key] = h.line(fmt.Sprintf("%snode%d/cpulist", numaFiles, id))
	}
	return attrs
}
