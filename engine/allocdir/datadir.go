package allocdir

import (
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
)

// DefaultDataDir is where runs are kept unless the user says otherwise:
// $XDG_STATE_HOME/taskrun, else ~/.local/state/taskrun
// (https://specifications.freedesktop.org/basedir-spec/latest/). For root it is
// /var/lib/taskrun, since tasks of other users could not reach their
// directories below root's home. Without a home it is a directory for this
// user in the one for temporary files.
func DefaultDataDir(getenv func(string) string, euid int) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "taskrun")
	}
	if euid == 0 {
		return "/var/lib/taskrun"
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "taskrun")
	}
	tmp := getenv("TMPDIR")
	if !filepath.IsAbs(tmp) {
		tmp = "/tmp"
	}
	return filepath.Join(tmp, "taskrun-"+strconv.Itoa(euid))
}

// jobDir is where the runs of a job are. A job ID may hold any character.
func jobDir(dataDir, jobID string) string {
	name := url.PathEscape(jobID)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	return filepath.Join(dataDir, "jobs", name)
}
