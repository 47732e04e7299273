package template

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	dep "github.com/hashicorp/consul-template/dependency"

	"taskrun/jobspec/stub"
)

// filePoll is how often files that the function file has read are looked at,
// as in consul-template.
const filePoll = 2 * time.Second

// fileStamp tells whether a file has changed.
type fileStamp struct {
	size int64
	mod  time.Time
}

// answerer answers what one execution of a template asks, all of it from the
// same stubs.
type answerer struct {
	set     *set
	stubs   *stub.Set
	asked   map[string]bool
	answers map[string]any
	files   map[string]fileStamp
}

// ask answers and takes note of it.
func (a *answerer) ask(d dep.Dependency) (value any, known bool, err error) {
	a.asked[d.String()] = true
	value, known, err = a.answer(d)
	if known {
		a.answers[d.String()] = value
	}
	return value, known, err
}

// answer returns the value of a dependency in the type that consul-template's
// functions expect. It is not known when there is nothing to answer, which a
// template waits for. The error is that of a question that has no answer here.
func (a *answerer) answer(d dep.Dependency) (value any, known bool, err error) {
	kind, arg := question(d)
	switch d.Type() {
	case dep.TypeLocal:
		value, err = a.file(kind, arg)
		return value, err == nil, err
	case dep.TypeConsul:
		return a.consul(kind, arg)
	case dep.TypeVault:
		return a.vault(kind, arg)
	case dep.TypeNomad:
		return a.nomad(kind, arg)
	}
	return nil, false, noStub(kind)
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
	dir, err := filepath.EvalSymlinks(a.set.dir) // as consul-template did with the path
	if err != nil {
		return "", err
	}
	a.files[path] = stampOf(path)
	text, err := readIn(filepath.Join(dir, a.set.taskDir), path)
	if err != nil {
		return "", fmt.Errorf("%s(%s): %w", kind, path, err)
	}
	return string(text), nil
}

func stampOf(path string) fileStamp {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{size: -1}
	}
	return fileStamp{info.Size(), info.ModTime()}
}
