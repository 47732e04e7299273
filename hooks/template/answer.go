package template

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	dep "github.com/hashicorp/consul-template/dependency"

	"taskrun/engine/leaf/safedir"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// filePoll is the interval between checks of the files that the function file
// has read, as in consul-template.
const filePoll = 2 * time.Second

// fileStamp identifies a version of a file.
type fileStamp struct {
	size int64
	mod  time.Time
}

// surroundings are everything that the templates of a task can read.
type surroundings struct {
	dir       string // allocation directory
	taskDir   string
	cfg       Config
	env       *taskenv.Env
	namespace string
	view      taskenv.View // nil: the task sees the machine's addresses
}

// answerer answers the questions of one execution of a template, all from the
// same stubs.
type answerer struct {
	*surroundings
	stubs   *stub.Set
	asked   map[string]bool
	answers map[string]any
	files   map[string]fileStamp
}

// question splits the name of a dependency, "kind(argument)".
func question(d dep.Dependency) (kind, arg string) {
	kind, arg, _ = strings.Cut(d.String(), "(")
	return kind, strings.TrimSuffix(arg, ")")
}

func noStub(kind string) error {
	return fmt.Errorf("%s: there are no stubs for this", kind)
}

// file reads a file in the task's directory. consul-template has checked that
// its path is there.
func (a *answerer) file(kind, path string) (string, error) {
	a.files[path] = a.stampOf(path)
	root, name, err := a.inTask(path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	text, err := safedir.ReadFile(root, name, maxSize)
	if err != nil {
		return "", fmt.Errorf("%s(%s): %w", kind, path, err)
	}
	return string(text), nil
}

// inTask returns the directory of the task, as a root that no link leaves, and
// the relative name of an absolute path.
func (s *surroundings) inTask(path string) (root *os.Root, name string, err error) {
	dir, err := filepath.EvalSymlinks(s.dir) // consul-template has done the same with the path
	if err != nil {
		return nil, "", err
	}
	if name, err = filepath.Rel(filepath.Join(dir, s.taskDir), path); err != nil {
		return nil, "", err
	}
	root, err = os.OpenRoot(filepath.Join(dir, s.taskDir))
	return root, name, err
}

func (s *surroundings) stampOf(path string) fileStamp {
	root, name, err := s.inTask(path)
	if err != nil {
		return fileStamp{size: -1}
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return fileStamp{size: -1}
	}
	return fileStamp{info.Size(), info.ModTime()}
}
