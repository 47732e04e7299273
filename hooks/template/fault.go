package template

import (
	"strconv"
	"strings"

	"taskrun/hooks"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// Fault is why the text of a template cannot be parsed.
type Fault struct {
	Template int // index of the block
	Line     int // in the text, from 1
	Text     string
}

// Faults parses the templates of a task whose text is in the job file.
func Faults(task hooks.Task, env *taskenv.Env) (faults []Fault) {
	for i, t := range task.Task.Templates {
		if t.EmbeddedTmpl == nil || !strings.Contains(*t.EmbeddedTmpl, *t.LeftDelim) {
			continue
		}
		sp, err := newSpec(t, task, env)
		if err != nil {
			continue // which is told elsewhere
		}
		_, err = newEmptySet(task, Config{Stubs: noStubs{}}, env).executeInTime(sp)
		if line, text, ok := parseFault(err); ok {
			faults = append(faults, Fault{i, line, text})
		}
	}
	return faults
}

// parseFault takes an error of consul-template apart that comes of parsing.
func parseFault(err error) (line int, text string, ok bool) {
	if err == nil {
		return 0, "", false
	}
	_, at, ok := strings.Cut(err.Error(), "parse: template: :")
	number, text, isPlaced := strings.Cut(at, ": ")
	line, failure := strconv.Atoi(number)
	return line, text, ok && isPlaced && failure == nil
}

type noStubs struct{}

func (noStubs) Set() *stub.Set           { return stub.None() }
func (noStubs) Changed() <-chan struct{} { return nil }
