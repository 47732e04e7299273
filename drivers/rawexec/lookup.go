package rawexec

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// lookup finds a command as Nomad does: in the task's local directory, in the
// task directory, as an absolute path, and last in the PATH of this program
// (that of the task makes no difference). So what the job brings along shadows
// the host's, even for an absolute path. Directories are passed over.
func lookup(taskDir, command string) (string, error) {
	candidates := []string{filepath.Join(taskDir, "local", command), filepath.Join(taskDir, command)}
	if filepath.IsAbs(command) {
		candidates = append(candidates, command)
	}
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	if !strings.ContainsRune(command, filepath.Separator) {
		if path, err := exec.LookPath(command); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("binary %q could not be found", command)
}

// makeExecutable lets everybody read and execute a file inside the allocation
// directory. Outside nothing is changed: there the file must be executable.
func makeExecutable(allocDir, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	const wanted = 0o555
	mode := info.Mode().Perm()
	if mode&wanted == wanted {
		return nil
	}
	inside, err := within(allocDir, path)
	switch {
	case err != nil:
		return fmt.Errorf("cannot make %q executable: %w", path, err)
	case inside == "" && mode&0o111 == 0:
		return fmt.Errorf("%q is not executable, and it is outside the allocation directory, where nothing is changed: chmod +x %s", path, path)
	case inside == "":
		return nil
	}
	root, err := os.OpenRoot(allocDir) // in which no link leads out
	if err != nil {
		return fmt.Errorf("cannot make %q executable: %w", path, err)
	}
	defer root.Close()
	if err := root.Chmod(inside, mode|wanted); err != nil {
		return fmt.Errorf("cannot make %q executable: %w", path, err)
	}
	return nil
}

// within returns the path relative to dir, with links resolved, "" when it is
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

// checkDir makes sure that a task can start in a directory, for the system's
// own error would name the command.
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
