// Package datadir makes, locks and removes what taskrun keeps in its data directory:
//
//	<data>/jobs/<job ID, escaped>/{lock,ports}
//	<data>/jobs/<job ID, escaped>/runs/<run ID>/alloc/<alloc ID>/   see package allocdir
//	<data>/jobs/<job ID, escaped>/sticky/<group>[<index>]   link to an allocation
//	<data>/host_volumes/<source, escaped>/data/  a volume without a folder of its own
//	<data>/host/<path>   in place of a path of the host
//	<data>/agent/        of the agent, if there is one
//
// The directories from the root down to that of a run's allocations are checked when
// a run is opened: nobody but root and the user who runs taskrun can replace one of
// them afterwards.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"taskrun/engine/leaf/safedir"
)

// Default returns the default directory for runs:
// $XDG_STATE_HOME/taskrun, or else ~/.local/state/taskrun
// (https://specifications.freedesktop.org/basedir-spec/latest/). For root it is
// /var/lib/taskrun, because tasks of other users could not reach directories
// below root's home. Without a home, it is a directory for this user in the
// directory for temporary files.
func Default(getenv func(string) string, euid int) string {
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

// Jobs returns the sorted IDs of the jobs that have run.
func Jobs(dataDir string) ([]string, error) {
	names, err := subdirs(filepath.Join(dataDir, "jobs"))
	if err != nil {
		return nil, fmt.Errorf("cannot list jobs: %w", err)
	}
	var ids []string
	for _, name := range names {
		if id, err := url.PathUnescape(name); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Runs returns the IDs of a job's kept runs, oldest first.
func Runs(dataDir, jobID string) ([]string, error) {
	ids, err := subdirs(runsDir(jobDir(dataDir, jobID)))
	if err != nil {
		return nil, fmt.Errorf("cannot list the runs of job %q: %w", jobID, err)
	}
	return ids, nil
}

// RunDir returns the directory of a run.
func RunDir(dataDir, jobID, runID string) string {
	return filepath.Join(runsDir(jobDir(dataDir, jobID)), runID)
}

// jobDir returns the directory with the runs of a job.
func jobDir(dataDir, jobID string) string {
	return filepath.Join(dataDir, "jobs", escape(jobID))
}

// escape converts an ID, which may contain any character, to a file name.
func escape(id string) string {
	name := url.PathEscape(id)
	if isHidden(name) {
		name = "%2E" + name[1:]
	}
	return name
}

func runsDir(jobDir string) string { return filepath.Join(jobDir, "runs") }

// subdirs returns the sorted names of the visible directories in dir, or none
// if dir does not exist.
func subdirs(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !isHidden(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// isHidden reports whether a name was not given by a user.
func isHidden(name string) bool { return strings.HasPrefix(name, ".") }

// safeDataDir returns the absolute path of a data directory, which may be missing. It
// refuses one that another user could replace.
func safeDataDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cannot find data directory %q: %w", dir, err)
	}
	return dir, checkDataDir(dir)
}

// checkDataDir refuses a data directory, or a directory in it, that another
// user could replace.
func checkDataDir(dir string) error {
	err := safedir.CheckTrusted(dir)
	var untrusted *safedir.UntrustedError
	if !errors.As(err, &untrusted) {
		return err
	}
	remedy := ""
	if untrusted.Remedy != "" {
		remedy = fmt.Sprintf(", or run `%s`", untrusted.Remedy)
	}
	return fmt.Errorf("cannot keep runs in %q: %q %s: choose another --data-dir%s", dir, untrusted.At, untrusted.Why, remedy)
}

// JobOf returns the ID of the job in the path of a run's directory.
func JobOf(runDir string) string {
	name := filepath.Base(jobDirOf(runDir))
	if id, err := url.PathUnescape(name); err == nil {
		return id
	}
	return name
}

func jobDirOf(runDir string) string { return filepath.Dir(filepath.Dir(runDir)) }
