package taskenv

import (
	"cmp"
	"math"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// groups returns the readers of attributes by the first step of their names.
func (h *host) groups() map[string]reader {
	return map[string]reader{
		"kernel": h.kernel,
		"os":     h.os,
		"cpu":    h.cpus,
		"numa":   h.numa,
		"memory": h.memory,
		"unique": h.unique,
	}
}

func (h *host) kernel(string) map[string]string {
	release, machine := h.uname()
	attrs := map[string]string{
		"kernel.name":    runtime.GOOS,
		"kernel.arch":    machine,
		"kernel.version": release,
	}
	if v := h.landlock(); v > 0 {
		attrs["kernel.landlock"] = "v" + strconv.Itoa(v)
	}
	return attrs
}

func (h *host) memory(string) map[string]string {
	for key, value := range h.fields("proc/meminfo", ":") {
		if key == "MemTotal" {
			kib, _ := strconv.ParseUint(strings.TrimSuffix(value, " kB"), 10, 64)
			return map[string]string{"memory.totalbytes": strconv.FormatUint(kib<<10, 10)}
		}
	}
	return nil
}

func (h *host) unique(dataDir string) map[string]string {
	attrs := map[string]string{"unique.hostname": h.hostname}
	if id := h.hostID(); id != "" {
		attrs["unique.host_id"] = id
	}
	if address := h.address(h.defaultInterface()); address != "" {
		attrs["unique.network.ip-address"] = address
	}
	dir, err := filepath.Abs(dataDir)
	if err != nil {
		return attrs
	}
	if volume := h.volume(dir); volume != "" {
		attrs["unique.storage.volume"] = volume
	}
	if size := h.space(dir); size > 0 {
		attrs["unique.storage.bytestotal"] = strconv.FormatUint(size, 10)
	}
	return attrs
}

func (h *host) machineID() string { return h.line("etc/machine-id") }

// hostID returns the identity of the machine or, if it has none, of its boot.
func (h *host) hostID() string {
	id := h.machineID()
	if len(id) == 32 {
		id = strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-")
	} else {
		id = ""
	}
	uuid := h.line("sys/class/dmi/id/product_uuid") // only readable for root
	return strings.ToLower(cmp.Or(uuid, id, h.line("proc/sys/kernel/random/boot_id")))
}

// defaultInterface returns the interface of the IPv4 default route with the
// lowest metric, or "". See proc(5), /proc/net/route.
func (h *host) defaultInterface() string {
	iface, lowest := "", uint64(math.MaxUint64)
	for line := range h.lines("proc/net/route") {
		f := strings.Fields(line)
		if len(f) < 8 || f[1] != "00000000" || f[7] != "00000000" {
			continue
		}
		if metric, err := strconv.ParseUint(f[6], 10, 64); err == nil && metric < lowest {
			iface, lowest = f[0], metric
		}
	}
	return iface
}

// volume returns the source of the file system that contains dir. See proc(5),
// /proc/pid/mountinfo.
func (h *host) volume(dir string) string {
	volume, longest := "", -1
	for line := range h.lines("proc/self/mountinfo") {
		mount, super, ok := strings.Cut(line, " - ")
		m, s := strings.Fields(mount), strings.Fields(super)
		if !ok || len(m) < 5 || len(s) < 2 {
			continue
		}
		point := strings.TrimSuffix(unescapeMount.Replace(m[4]), "/")
		if len(point) >= longest && strings.HasPrefix(dir+"/", point+"/") {
			volume, longest = unescapeMount.Replace(s[1]), len(point)
		}
	}
	return volume
}

var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
