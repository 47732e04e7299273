package template

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	dep "github.com/hashicorp/consul-template/dependency"

	"taskrun/engine/leaf/allocdir"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// filePoll is how often files that the function file has read are looked at,
// as in consul-template.
const filePoll = 2 * time.Second

// fileStamp tells whether a file has changed.
type fileStamp struct {
	size int64
	mod  time.Time
}

// surroundings are what the templates of a task can look at.
type surroundings struct {
	dir       string // of the allocation
	taskDir   string
	cfg       Config
	env       *taskenv.Env
	namespace string
}

// answerer answers what one execution of a template asks, all of it from the
// same stubs.
type answerer struct {
	*surroundings
	stubs   *stub.Set
	asked   map[string]bool
	answers map[string]any
	files   map[string]fileStamp
}

// question splits what a dependency calls itself, "kind(argument)".
func question(d dep.Dependency) (kind, arg string) {
	kind, arg, _ = strings.Cut(d.String(), "(")
	return kind, strings.TrimSuffix(arg, ")")
}

func noStub(kind string) error {
	return fmt.Errorf("%s: there are no stubs for this", kind)
}

// file reads a file in the task's directory, in which consul-template has found
// its path to lie.
func (a *answerer) file(kind, path string) (string, error) {
	a.files[path] = a.stampOf(path)
	root, name, err := a.inTask(path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	text, err := allocdir.ReadFile(root, name, maxSize)
	if err != nil {
		return "", fmt.Errorf("%s(%s): %w", kind, path, err)
	}
	return string(text), nil
}

// inTask returns the directory of the task, which no link leads out of, and the
// name in it of an absolute path.
func (s *surroundings) inTask(path string) (root *os.Root, name string, err error) {
	dir, err := filepath.EvalSymlinks(s.dir) // as consul-template did with the path
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
