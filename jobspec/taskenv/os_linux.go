package taskenv

import "strings"

func (h *host) os(string) map[string]string {
	name, version := h.distribution()
	attrs := map[string]string{
		"os.name":    name,
		"os.version": version,
		"os.signals": SignalNames,
	}
	switch {
	case h.exists("sys/fs/cgroup/cgroup.controllers"):
		attrs["os.cgroups.version"] = "2"
	case h.exists("sys/fs/cgroup/memory"):
		attrs["os.cgroups.version"] = "1"
	}
	return attrs
}

// releaseFiles are the release files of distributions based on Red Hat,
// specific ones first. Where the name is empty, it is the beginning of the
// file.
var releaseFiles = []struct{ file, name string }{
	{"etc/oracle-release", "oracle"},
	{"etc/enterprise-release", "oracle"},
	{"etc/redhat-release", ""},
	{"etc/system-release", ""},
	{"etc/gentoo-release", "gentoo"},
}

// distribution returns the name and version by which Nomad knows the Linux
// distribution. They differ from those in os-release(5): Debian has its point
// release, and "rhel", "ol" and "amzn" are "redhat", "oracle" and "amazon".
func (h *host) distribution() (name, version string) {
	if h.exists("etc/debian_version") {
		return h.debian()
	}
	for _, r := range releaseFiles {
		if text := strings.ToLower(h.line(r.file)); text != "" {
			return redHat(r.name, text)
		}
	}
	if h.exists("etc/alpine-release") {
		return "alpine", h.line("etc/alpine-release")
	}
	return h.osRelease()
}

// debian distinguishes Debian from its derivatives, which identify themselves
// in lsb-release.
func (h *host) debian() (name, version string) {
	for key, value := range h.fields("etc/lsb-release", "=") {
		switch key {
		case "DISTRIB_ID":
			name = strings.ToLower(value)
		case "DISTRIB_RELEASE":
			version = value
		}
	}
	if name == "" || name == "debian" {
		return "debian", h.line("etc/debian_version")
	}
	return name, version
}

// redHat parses a text such as "rocky linux release 9.4 (blue onyx)".
func redHat(name, text string) (string, string) {
	first, _, _ := strings.Cut(text, " ")
	switch {
	case name != "": // by the name of the file
	case strings.Contains(text, "red hat"):
		name = "redhat"
	default:
		name = first
	}
	if strings.Contains(text, "rawhide") {
		return name, "rawhide"
	}
	_, version, _ := strings.Cut(text, "release ")
	version, _, _ = strings.Cut(version, " ")
	return name, version
}

func (h *host) osRelease() (name, version string) {
	for key, value := range h.fields("etc/os-release", "=") {
		switch key {
		case "ID":
			name = value
		case "VERSION_ID":
			version = value
		}
	}
	return name, version
}
