package cgroup

import (
	"path/filepath"
	"slices"
	"strings"
)

// mount is a mounted cgroup file system.
type mount struct {
	dir         string   // mount point
	root        string   // group at the mount point
	version2    bool     // false: one hierarchy of version 1
	controllers []string // only version 1
}

// unescape unescapes paths in mountinfo.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// parseMounts returns the cgroup file systems of /proc/PID/mountinfo; see
// proc_pid_mountinfo(5).
func parseMounts(mountinfo string) (mounts []mount) {
	for line := range strings.Lines(mountinfo) {
		left, right, _ := strings.Cut(line, " - ")
		place, kind := strings.Fields(left), strings.Fields(right)
		if len(place) < 5 || len(kind) < 3 {
			continue
		}
		m := mount{root: unescape.Replace(place[3]), dir: unescape.Replace(place[4]), version2: kind[0] == "cgroup2"}
		if kind[0] == "cgroup" {
			m.controllers = strings.Split(kind[2], ",")
		} else if !m.version2 {
			continue
		}
		mounts = append(mounts, m)
	}
	return mounts
}

// version1 returns where a controller's hierarchy is mounted.
func version1(mounts []mount, controller string) (dir string, ok bool) {
	for _, m := range mounts {
		if slices.Contains(m.controllers, controller) {
			return m.dir, true
		}
	}
	return "", false
}

// version2 returns where the hierarchy is mounted, and the directory of this
// program's group in it according to /proc/PID/cgroup; see cgroups(7).
func version2(mounts []mount, self string) (dir, own string, ok bool) {
	i := slices.IndexFunc(mounts, func(m mount) bool { return m.version2 })
	if i < 0 {
		return "", "", false
	}
	for line := range strings.Lines(self) {
		path, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		if !found {
			continue
		}
		below, err := filepath.Rel(mounts[i].root, path)
		if err != nil || !filepath.IsLocal(below) || strings.HasPrefix(path, "/../") {
			return "", "", false // it is outside of the mounted part
		}
		return mounts[i].dir, filepath.Join(mounts[i].dir, below), true
	}
	return "", "", false
}
