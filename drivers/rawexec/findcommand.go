package rawexec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Exit codes of a command that could not be run, as in shells; see
// https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_08_02.
const (
	codeNotExecutable = 126
	codeNotFound      = 127
)

// findCommand finds a command like a shell in the task: names with a slash from
// the directory, others along the PATH of the environment.
func findCommand(name, dir string, env []string) (path string, code int, err error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return checkCommand(name)
	}
	denied := ""
	for _, folder := range filepath.SplitList(variable(env, "PATH")) {
		candidate := filepath.Join(folder, name)
		if !filepath.IsAbs(candidate) {
			candidate = filepath.Join(dir, candidate)
		}
		switch path, code, err := checkCommand(candidate); {
		case code == 0:
			return path, 0, nil
		case code == codeNotExecutable && !errors.Is(err, fs.ErrPermission): // otherwise the directory cannot be read
			denied = candidate
		}
	}
	if denied != "" {
		return checkCommand(denied)
	}
	return "", codeNotFound, fmt.Errorf("command %q is not in the task's PATH", name)
}

// checkCommand checks whether a file can be executed.
func checkCommand(path string) (string, int, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", codeNotFound, fmt.Errorf("there is no command %q", path)
	case err != nil:
		return "", codeNotExecutable, fmt.Errorf("cannot run %q: %w", path, err)
	case info.IsDir():
		return "", codeNotExecutable, fmt.Errorf("cannot run %q: it is a directory", path)
	case info.Mode()&0o111 == 0:
		return "", codeNotExecutable, fmt.Errorf("cannot run %q: it is not executable", path)
	}
	return path, 0, nil
}

func variable(env []string, name string) string {
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}
