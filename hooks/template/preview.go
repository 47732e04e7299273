package template

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	dep "github.com/hashicorp/consul-template/dependency"

	"taskrun/hooks"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// Lack is something that a template asks for and does not get.
type Lack struct {
	Template int    // index of the block
	Asks     string // as the function names it, such as "kv.block(app/port)"
	Need     stub.Need
	// Empty: the answer would be an empty list, for which no template waits.
	Empty bool
	// Varies: what is asked for has another name in each run.
	Varies bool
}

// Preview executes the templates of a task that ask for what a cluster has,
// without its directories, and returns what would be missing. What cannot be
// told beforehand, such as the content of files, is left to the task's start.
// The environments are two that the task may have in two runs.
func Preview(task hooks.Task, envs [2]*taskenv.Env, cfg Config) []Lack {
	lacks := lacksIn(task, envs[0], cfg)
	if len(lacks) == 0 {
		return nil
	}
	other := lacksIn(task, envs[1], cfg)
	for i, l := range lacks {
		lacks[i].Varies = !slices.Contains(other, l)
	}
	return lacks
}

// lacksIn returns what the templates of a task lack in one environment.
func lacksIn(task hooks.Task, env *taskenv.Env, cfg Config) (lacks []Lack) {
	for i, t := range task.Task.Templates {
		if t.EmbeddedTmpl == nil || !mayAsk(*t.EmbeddedTmpl) {
			continue
		}
		sp, err := newSpec(t, task, env)
		if err != nil {
			continue
		}
		s := newEmptySet(task, cfg, env)
		out, err := s.executeInTime(sp)
		if err != nil {
			continue
		}
		for _, d := range out.missing {
			lacks = append(lacks, Lack{Template: i, Asks: d.String(), Need: NeedOf(d)})
		}
		for _, d := range out.used {
			if name, ok := s.unknownService(d); ok {
				lacks = append(lacks, Lack{Template: i, Asks: d.String(), Need: stub.Need{Kind: stub.ServiceBlock, Label: name}, Empty: true})
			}
		}
	}
	slices.SortStableFunc(lacks, func(a, b Lack) int {
		if a.Template != b.Template {
			return a.Template - b.Template
		}
		return strings.Compare(a.Asks, b.Asks)
	})
	return lacks
}

// previewTime is how long a template may take before a run, when its result is
// thrown away.
const previewTime = time.Second

func (s *set) executeInTime(t *spec) (result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), previewTime)
	defer cancel()
	return s.execute(ctx, t)
}

// askers are in the names of all functions that ask for what a cluster has.
var askers = []string{
	"key", "ls", "tree", "ecret", "pkiCert", "nomadVar", "ervice", "connect", "node", "Tree", "Ls",
}

func mayAsk(text string) bool {
	return slices.ContainsFunc(askers, func(a string) bool { return strings.Contains(text, a) })
}

// unknownService returns the service that a dependency asks for, when no
// instance of it is known.
func (s *set) unknownService(d dep.Dependency) (name string, unknown bool) {
	kind, arg := question(d)
	var provider string
	switch kind {
	case "health.service":
		provider = "consul"
		arg, _, _ = strings.Cut(arg, "|")
		arg, _, _ = strings.Cut(arg, "~")
	case "nomad.service":
		provider = "nomad"
		if m := chosen().FindStringSubmatch(arg); m != nil {
			arg = m[1]
		}
	default:
		return "", false
	}
	_, name = tagAndName(arg)
	known := slices.ContainsFunc(s.answerer().instances(provider), func(i Instance) bool { return i.ServiceName == name })
	return name, !known
}

// ParseError is why the text of a template cannot be parsed.
type ParseError struct {
	Template int // index of the block
	Line     int // in the text, from 1
	Text     string
}

// ParseErrors parses the templates of a task whose text is in the job file.
func ParseErrors(task hooks.Task, env *taskenv.Env) (errs []ParseError) {
	for i, t := range task.Task.Templates {
		if t.EmbeddedTmpl == nil || !strings.Contains(*t.EmbeddedTmpl, *t.LeftDelim) {
			continue
		}
		sp, err := newSpec(t, task, env)
		if err != nil {
			continue // the start of the task reports it
		}
		_, err = newEmptySet(task, Config{Stubs: noStubs{}}, env).executeInTime(sp)
		if line, text, ok := parseFault(err); ok {
			errs = append(errs, ParseError{i, line, text})
		}
	}
	return errs
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
