package template

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	dep "github.com/hashicorp/consul-template/dependency"
	ct "github.com/hashicorp/consul-template/template"

	"taskrun/hooks"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// Lack is a value that a template requests and that is missing.
type Lack struct {
	Template int    // index of the block
	Asks     string // in the form of the function, such as "kv.block(app/port)"
	Need     stub.Need
	// Empty is true if the answer would be an empty list, which no template
	// waits for.
	Empty bool
	// Varies is true if the name differs in every run.
	Varies bool
}

// Preview executes the templates of a task that request values of a cluster,
// without the task's directories, and returns the values that would be missing.
// Everything that is unknown before the start, such as the content of files, is
// ignored. The environments are those of two possible runs.
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

// Requests executes the templates of a task like Preview, and returns everything
// that they request from stubs.
func Requests(task hooks.Task, env *taskenv.Env, cfg Config) (requests []stub.Request) {
	executeAll(task, env, cfg, func(template int, s *set, out result) {
		for _, d := range out.used {
			if r, ok := requestOf(d); ok {
				r.Template = template
				requests = append(requests, r)
			}
		}
	})
	return requests
}

// requestOf returns what a dependency requests from stubs, if it does.
func requestOf(d dep.Dependency) (stub.Request, bool) {
	kind, _ := question(d)
	if _, name, ok := serviceOf(d); ok {
		return stub.Request{Need: stub.Need{Kind: stub.ServiceBlock, Label: name}}, true
	}
	need := NeedOf(d)
	switch need.Kind {
	case stub.ConsulKey, stub.NomadVariable, stub.VaultSecret:
		return stub.Request{Need: need, List: strings.HasSuffix(kind, ".list")}, true
	}
	return stub.Request{}, false
}

// lacksIn returns the missing values of a task's templates in one environment.
func lacksIn(task hooks.Task, env *taskenv.Env, cfg Config) (lacks []Lack) {
	executeAll(task, env, cfg, func(template int, s *set, out result) {
		for _, d := range out.missing {
			lacks = append(lacks, Lack{Template: template, Asks: d.String(), Need: NeedOf(d)})
		}
		for _, d := range out.used {
			if name, ok := s.unknownService(d); ok {
				lacks = append(lacks, Lack{Template: template, Asks: d.String(), Need: stub.Need{Kind: stub.ServiceBlock, Label: name}, Empty: true})
			}
		}
	})
	slices.SortStableFunc(lacks, func(a, b Lack) int {
		if a.Template != b.Template {
			return a.Template - b.Template
		}
		return strings.Compare(a.Asks, b.Asks)
	})
	return lacks
}

// executeAll executes the templates of a task that may request values of a
// cluster, and calls f with the index and the result of each one that succeeds.
func executeAll(task hooks.Task, env *taskenv.Env, cfg Config, f func(template int, s *set, out result)) {
	for i, t := range task.Task.Templates {
		if t.EmbeddedTmpl == nil || !mayAsk(*t.EmbeddedTmpl) {
			continue
		}
		sp, err := newSpec(t, task, env, cfg.Unsourced)
		if err != nil {
			continue
		}
		s := newEmptySet(task, cfg, env)
		if out, err := s.executeInTime(sp); err == nil {
			f(i, s, out)
		}
	}
}

// previewTime limits the execution of a template in a preview. Only one that does
// not end takes so long, even on a busy machine.
const previewTime = 3 * time.Second

func (s *set) executeInTime(t *spec) (result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), previewTime)
	defer cancel()
	return s.execute(ctx, t)
}

// askers are parts of the names of all functions that request values of a
// cluster.
var askers = []string{
	"key", "ls", "tree", "ecret", "pkiCert", "nomadVar", "ervice", "connect", "node", "Tree", "Ls",
}

func mayAsk(text string) bool {
	return slices.ContainsFunc(askers, func(a string) bool { return strings.Contains(text, a) })
}

// unknownService returns the service that a dependency requests, if it has no
// known instance.
func (s *set) unknownService(d dep.Dependency) (name string, unknown bool) {
	provider, name, ok := serviceOf(d)
	if !ok {
		return "", false
	}
	known := slices.ContainsFunc(s.answerer().instances(provider), func(i Instance) bool { return i.ServiceName == name })
	return name, !known
}

// serviceOf returns the provider and the name of the service that a dependency
// requests, if it does.
func serviceOf(d dep.Dependency) (provider, name string, ok bool) {
	kind, arg := question(d)
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
		return "", "", false
	}
	_, name = tagAndName(arg)
	return provider, name, true
}

// ParseError explains why a template cannot be parsed.
type ParseError struct {
	Template int // index of the block
	Line     int // in the text, from 1
	Text     string
	Near     string // the function that was probably meant, or ""
}

// ParseErrors parses the templates of a task whose text is in the job file.
func ParseErrors(task hooks.Task, env *taskenv.Env) (errs []ParseError) {
	for i, t := range task.Task.Templates {
		if t.EmbeddedTmpl == nil {
			continue
		}
		if !strings.Contains(*t.EmbeddedTmpl, *t.LeftDelim) { // its text is that of the file
			if err := parseVariables(t); err != nil {
				errs = append(errs, ParseError{Template: i, Line: err.Line, Text: err.Err.Error()})
			}
			continue
		}
		sp, err := newSpec(t, task, env, false)
		if err != nil {
			continue // reported when the task starts
		}
		if line, text, ok := parseFault(newEmptySet(task, Config{}, env).parse(sp)); ok {
			errs = append(errs, ParseError{i, line, text, meant(text)})
		}
	}
	return errs
}

// parse returns the parse error of a template, or nil. consul-template parses
// only what it executes, so the time of the execution is over when it begins.
func (s *set) parse(t *spec) error {
	over, end := context.WithCancel(context.Background())
	end()
	t.guard.begin(over)
	if _, err := t.Execute(&ct.ExecuteInput{Brain: ct.NewBrain(), Config: s.config}); err != nil {
		return errors.New(t.text.original(err.Error()))
	}
	return nil
}

// parseFault splits a parse error of consul-template.
func parseFault(err error) (line int, text string, ok bool) {
	if err == nil {
		return 0, "", false
	}
	_, at, ok := strings.Cut(err.Error(), "parse: template: :")
	number, text, isPlaced := strings.Cut(at, ": ")
	line, failure := strconv.Atoi(number)
	return line, text, ok && isPlaced && failure == nil
}
