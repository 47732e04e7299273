package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
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

// Jobs returns the IDs of the jobs that have run, sorted.
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

// Runs returns the IDs of a job's runs that are kept, oldest first.
func Runs(dataDir, jobID string) ([]string, error) {
	ids, err := subdirs(runsDir(jobDir(dataDir, jobID)))
	if err != nil {
		return nil, fmt.Errorf("cannot list the runs of job %q: %w", jobID, err)
	}
	return ids, nil
}

// RunDir is the directory of a run.
func RunDir(dataDir, jobID, runID string) string {
	return filepath.Join(runsDir(jobDir(dataDir, jobID)), runID)
}

// jobDir is where the runs of a job are.
func jobDir(dataDir, jobID string) string {
	return filepath.Join(dataDir, "jobs", escape(jobID))
}

// escape makes a file name of an ID, which may hold any character.
func escape(id string) string {
	name := url.PathEscape(id)
	if isHidden(name) {
		name = "%2E" + name[1:]
	}
	return name
}

func runsDir(jobDir string) string { return filepath.Join(jobDir, "runs") }

// subdirs returns the sorted names of the visible directories in dir; none
// when dir does not exist.
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

// isName reports whether s can be the name of a file.
func isName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00")
}

func isHidden(name string) bool { return strings.HasPrefix(name, ".") }

// makePrivate makes a directory and those above it for the user alone. Root's
// can be passed through by others: a task may run as another user.
func makePrivate(dir string) error {
	mode := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if err := makeAll(dir, mode); err != nil {
		return fmt.Errorf("cannot make directory %q: %w", dir, err)
	}
	return nil
}

func makeAll(dir string, mode fs.FileMode) error {
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		if err := makeAll(filepath.Dir(dir), mode); err != nil {
			return err
		}
		err = os.Mkdir(dir, mode)
	}
	if err == nil {
		return os.Chmod(dir, mode) // despite the umask
	}
	if info, statErr := os.Stat(dir); statErr == nil {
		if info.IsDir() {
			return nil
		}
		return fmt.Errorf("%q is in the way: it is no directory", dir)
	}
	return err
}
