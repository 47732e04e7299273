// Package runtimedir finds the directory shared by the runs of a user, with
// their sockets, the records for the cleanup, and the locks of their ports.
// Everything in it is trusted, so only the user must be able to write to it,
// and nobody else may be able to rename or replace it.
//
// The check of a path and its later use are separate steps. Nobody else can
// change the result in between: the directory belongs to the user, with mode
// 0700, and its parent has the sticky bit or is not writable by others.
package runtimedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Find returns the directory of a user. It need not exist yet: Make creates it.
// It is $XDG_RUNTIME_DIR/taskrun
// (https://specifications.freedesktop.org/basedir-spec/latest/), unless that
// variable names a directory of another user, or one that others can write to,
// which is a warning; for root /var/run/taskrun; otherwise a directory for this
// user in the directory for temporary files.
//
// Anyone can take that last name first. Then Find uses a directory with a
// random name, and remembers it in a file in state, the user's directory for
// persistent state.
func Find(getenv func(string) string, euid int, state string) (dir, warning string, err error) {
	if base := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(base) {
		info, err := os.Stat(base)
		switch {
		case err != nil || owner(info) != euid:
		case info.Mode().Perm()&0o022 != 0:
			warning = fmt.Sprintf("XDG_RUNTIME_DIR is not used: others can write to %q (mode %04o); it must be 0700", base, info.Mode().Perm())
		default:
			return filepath.Join(base, "taskrun"), "", nil
		}
	}
	if euid == 0 {
		return "/var/run/taskrun", warning, nil
	}
	tmp := filepath.Clean(getenv("TMPDIR"))
	if !filepath.IsAbs(tmp) || len(tmp) > maxTemp || checkParent(tmp, euid) != nil {
		tmp = "/tmp"
	}
	dir, err = inTemp(tmp, filepath.Join(state, memoryFile), euid)
	return dir, warning, err
}

// maxTemp is the length of the longest directory for temporary files in which a
// socket has a name that distinguishes it: the path of a socket has at most 103
// bytes on macOS, where TMPDIR has 48.
const maxTemp = 49

// inTemp returns a directory in the directory for temporary files.
func inTemp(tmp, memory string, euid int) (string, error) {
	if dir := recall(memory, euid); dir != "" {
		return dir, nil
	}
	dir := filepath.Join(tmp, prefix+strconv.Itoa(euid))
	err := checkParent(tmp, euid)
	if err == nil {
		if err = check(dir, euid); err == nil || errors.Is(err, fs.ErrNotExist) {
			return dir, nil
		}
		other, failure := remember(memory, tmp, euid)
		if failure == nil {
			return other, nil
		}
		err = fmt.Errorf("%w; no other directory can be made: %w", err, failure)
	}
	return "", fmt.Errorf("cannot use %q for the sockets of runs: %w; set XDG_RUNTIME_DIR to a directory that is yours, with mode 0700", dir, err)
}

// Make creates a directory that Find has returned, or checks an existing one.
func Make(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err == nil {
		return os.Chmod(dir, 0o700) // regardless of the umask
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	return Check(dir)
}
