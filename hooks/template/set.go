package template

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/hashicorp/consul-template/config"
	dep "github.com/hashicorp/consul-template/dependency"
	ct "github.com/hashicorp/consul-template/template"

	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// maxPasses limits how often a template is executed until all its questions are
// answered: an answer can lead to new questions, which are answered in the next
// pass.
const maxPasses = 1000

// set contains the templates of a task and everything needed to render them.
type set struct {
	surroundings
	templates []*spec
	config    *config.Config // only fields that the functions use
}

func newSet(task hooks.Task, cfg Config, env *taskenv.Env) (*set, error) {
	s := newEmptySet(task, cfg, env)
	for _, t := range task.Task.Templates {
		sp, err := newSpec(t, task, env, cfg.Unsourced)
		if err != nil {
			return nil, err
		}
		s.templates = append(s.templates, sp)
	}
	return s, nil
}

func newEmptySet(task hooks.Task, cfg Config, env *taskenv.Env) *set {
	namespace := "default"
	if task.Job.Namespace != nil && *task.Job.Namespace != "" {
		namespace = *task.Job.Namespace
	}
	var view taskenv.View
	if cfg.View != nil {
		view = cfg.View(task)
	}
	if cfg.authority == nil {
		cfg.authority = &authority{}
	}
	return &set{
		surroundings: surroundings{task.AllocDir, task.Task.Name, cfg, env, namespace, view},
		config:       &config.Config{Nomad: &config.NomadConfig{Namespace: &namespace}},
	}
}

// result is the result of executing a template.
type result struct {
	text    []byte
	missing []dep.Dependency // if not empty, text is incomplete
	used    []dep.Dependency
	answers map[string]any       // answers to all other questions
	files   map[string]fileStamp // files that it read
}

// execute executes a template with the current answers, repeatedly if
// necessary, until ctx ends.
func (s *set) execute(ctx context.Context, t *spec) (result, error) {
	ctx, cancel := context.WithCancel(ctx) // ends goroutines of the functions
	defer cancel()
	brain := ct.NewBrain()
	a := s.answerer()
	for range maxPasses {
		t.guard.begin(ctx)
		out, err := t.Execute(&ct.ExecuteInput{Brain: brain, Config: s.config})
		if ended := t.guard.err(); ended != nil {
			err = ended
		} else if err != nil {
			err = errors.New(t.text.original(err.Error()))
		}
		if err != nil {
			return result{}, fmt.Errorf("%s: %w", t.written, err)
		}
		again := false
		for _, d := range out.Missing.List() {
			if _, asked := a.asked[d.String()]; asked {
				continue
			}
			value, known, err := a.ask(d)
			if err != nil {
				return result{}, fmt.Errorf("%s: %w", t.written, err)
			}
			if known {
				brain.Remember(d, value)
				again = true
			}
		}
		if !again {
			return result{out.Output, out.Missing.List(), out.Used.List(), a.answers, a.files}, nil
		}
	}
	return result{}, fmt.Errorf("%s: it never stops asking for new values", t.written)
}

// differs reports whether the questions of a template now have other answers.
func (s *set) differs(r *result) (bool, error) {
	a := s.answerer()
	for _, d := range r.used {
		if _, _, err := a.ask(d); err != nil {
			return false, err
		}
	}
	r.files = a.files
	return !reflect.DeepEqual(a.answers, r.answers), nil
}

func (s *set) answerer() *answerer {
	return &answerer{
		surroundings: &s.surroundings, stubs: s.cfg.Stubs.Set(),
		asked: map[string]bool{}, answers: map[string]any{}, files: map[string]fileStamp{},
	}
}

// ask answers a question and records the answer.
func (a *answerer) ask(d dep.Dependency) (value any, known bool, err error) {
	a.asked[d.String()] = true
	value, known, err = a.answer(d)
	if known {
		a.answers[d.String()] = value
	}
	return value, known, err
}

// answer returns the value of a dependency in the type that consul-template's
// functions expect. If known is false there is no value yet, and the template
// waits for it. An error means that the question cannot be answered here.
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

// follow returns channels that are closed when an answer may have changed, and
// the interval for checking files; 0 means never.
func (s *set) follow(used map[string]dep.Dependency) (changed, services <-chan struct{}, poll time.Duration) {
	for _, d := range used {
		switch d.Type() {
		case dep.TypeLocal:
			poll = filePoll
		default:
			if changed == nil {
				changed = s.cfg.Stubs.Changed()
			}
			if services == nil && s.cfg.Services != nil && asksForServices(d) {
				services = s.cfg.Services.Changed()
			}
		}
	}
	return changed, services, poll
}

// asksForServices reports whether a dependency is about services.
func asksForServices(d dep.Dependency) bool {
	kind, _ := question(d)
	switch kind {
	case "health.service", "catalog.services", "catalog.node", "nomad.service", "nomad.services":
		return true
	}
	return false
}

func names(missing map[string]dep.Dependency) []string { return slices.Sorted(maps.Keys(missing)) }
