package rawexec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/safedir"
)

// lookup finds a command where Nomad does: in the task's local directory, in
// the task directory, as an absolute path, and finally in the PATH of this
// program (not of the task). Unlike in Nomad, an absolute path to an existing
// file always means that file: nothing in the task directory replaces it. There,
// a file counts only if the users, root and this user are the only ones who
// could have put it there.
func lookup(taskDir, command string, users ...int) (string, error) {
	if filepath.IsAbs(command) && isFile(command) {
		return command, nil
	}
	var refused error
	for _, path := range []string{filepath.Join(taskDir, "local", command), filepath.Join(taskDir, command)} {
		if !isFile(path) {
			continue
		}
		err := safedir.CheckTrusted(path, users...)
		if err == nil {
			return path, nil
		}
		refused = errors.Join(refused, err)
	}
	if !strings.ContainsRune(command, filepath.Separator) {
		if path, err := exec.LookPath(command); err == nil {
			return path, nil
		}
	}
	if refused != nil {
		return "", refused
	}
	return "", fmt.Errorf("binary %q could not be found", command)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// makeExecutable gives everyone permission to read and execute a file inside
// the allocation directory. It changes nothing outside.
func makeExecutable(allocDir, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	if mode&forAll == forAll {
		return nil
	}
	inside, err := within(allocDir, path)
	switch {
	case err != nil:
	case inside == "" && mode&0o111 == 0:
		return fmt.Errorf("%q is not executable, and it is outside the allocation directory, where nothing is changed: chmod +x %s", path, path)
	case inside == "":
		return nil
	default:
		err = allowAll(allocDir, inside)
	}
	if err != nil {
		return fmt.Errorf("cannot make %q executable: %w", path, err)
	}
	return nil
}

// forAll are the permissions to read and execute a file, for everyone.
const forAll = 0o555

// allowAll changes the mode of a file of a task or of the shared directory.
// Tasks may replace the file at any time, so it follows no link out of the
// directory, and refuses a file with several names, which could belong to any
// user.
func allowAll(allocDir, name string) error {
	dir := allocdir.At(allocDir)
	defer func() { _ = dir.Close() }()
	root, name, err := dir.Place(name)
	if err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 { // chmod works for an unreadable file of this user
		return root.Chmod(name, forAll)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || !info.Mode().IsRegular() || stat.Nlink != 1 {
		return errors.New("it is not a regular file with a single name")
	}
	return f.Chmod(info.Mode().Perm() | forAll)
}

// within returns the path relative to dir, with links resolved, or "" if it is
// not below dir.
func within(dir, path string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", nil
	}
	return rel, nil
}

// checkDir checks whether a task can start in a directory. The system's own
// error would name the command instead.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("cannot start in directory %q: %w", dir, reason(err))
	}
	if !info.IsDir() {
		return fmt.Errorf("cannot start in directory %q: not a directory", dir)
	}
	return nil
}
