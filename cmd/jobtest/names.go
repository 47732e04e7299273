package jobtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/jobspec/diagnostic"
)

// Place is where something is. Its zero parts were not written.
type Place struct {
	Group  string
	Index  int // of the allocation in its group
	Number int // of the allocation among those of that name, from 1; 0: the latest
	Task   string
}

// Alloc returns the name of the allocation as tests write it.
func (p Place) Alloc() string { return fmt.Sprintf("%s[%d]", p.Group, p.Index) }

// A NameError is a name that does not exist, or is not clear.
type NameError struct{ Summary, Detail, Remedy string }

func (e *NameError) Error() string {
	text := e.Summary
	for _, more := range []string{e.Detail, e.Remedy} {
		if more != "" {
			text += "; " + more
		}
	}
	return text
}

// written is GROUP[INDEX]#NUMBER; the brackets and the number may be missing.
var written = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^\[\]#/]+)(\[(\d{1,6})\])?(#(\d{1,6}))?$`)
})

func did(text string, known []string) string { return diagnostic.DidYouMean(text, known) }

func unknown(what, text string, known []string) *NameError {
	e := &NameError{Summary: fmt.Sprintf("there is no %s %q", what, text), Remedy: did(text, known)}
	if e.Remedy == "" && len(known) > 0 && len(known) <= 6 {
		e.Detail = "there is " + strings.Join(known, ", ")
	}
	return e
}

// Names are the names that jobs have. They may be several versions of one job: a
// name counts if one of them has it.
type Names struct {
	jobs   []string
	groups []*groupNames
}

type groupNames struct {
	name      string
	count     int
	tasks     []string
	templates map[string][]string // destinations, by task
	services  []string
	checks    []string
	ports     []string
}

// NamesOf returns the names of canonical jobs.
func NamesOf(jobs ...*api.Job) *Names {
	n := &Names{}
	for _, j := range jobs {
		if !slices.Contains(n.jobs, *j.ID) {
			n.jobs = append(n.jobs, *j.ID)
		}
		for _, g := range j.TaskGroups {
			names := n.group(*g.Name)
			names.count = max(names.count, fold.Instances(j, g))
			for _, t := range g.Tasks {
				names.addTask(t.Name)
				for _, tmpl := range t.Templates {
					if path := Destination(*tmpl.DestPath); !slices.Contains(names.templates[t.Name], path) {
						names.templates[t.Name] = append(names.templates[t.Name], path)
					}
				}
				names.offer(t.Services)
			}
			names.offer(g.Services)
			for _, network := range g.Networks {
				for _, port := range slices.Concat(network.ReservedPorts, network.DynamicPorts) {
					names.ports = append(names.ports, port.Label)
				}
			}
		}
	}
	return n
}

func (n *Names) group(name string) *groupNames {
	i := slices.IndexFunc(n.groups, func(g *groupNames) bool { return g.name == name })
	if i >= 0 {
		return n.groups[i]
	}
	g := &groupNames{name: name, templates: map[string][]string{}}
	n.groups = append(n.groups, g)
	return g
}

// Add takes in that an allocation was placed, which may be part of no version of
// the jobs that is known.
func (n *Names) Add(a *fold.Alloc) {
	g := n.group(a.Group)
	g.count = max(g.count, a.Index()+1)
	for _, t := range a.Tasks {
		g.addTask(t.Name)
	}
}

func (g *groupNames) addTask(name string) {
	if !slices.Contains(g.tasks, name) {
		g.tasks = append(g.tasks, name)
	}
}

func (g *groupNames) offer(services []*api.Service) {
	for _, s := range services {
		g.services = append(g.services, s.Name)
		for _, c := range s.Checks {
			g.checks = append(g.checks, c.Name)
		}
	}
}

// Job checks the ID of a job, which may be empty.
func (n *Names) Job(id string) *NameError {
	if id == "" || slices.Contains(n.jobs, id) {
		return nil
	}
	return unknown("job", id, n.jobs)
}

// Group checks the name of a group.
func (n *Names) Group(name string) *NameError {
	var known []string
	for _, g := range n.groups {
		known = append(known, g.name)
	}
	if slices.Contains(known, name) {
		return nil
	}
	return unknown("group", name, known)
}

func (g *groupNames) tasksOf(alloc string) []string {
	names := make([]string, len(g.tasks))
	for i, t := range g.tasks {
		names[i] = alloc + "/" + t
	}
	return names
}

func (n *Names) groupsWith(task string) (found []*groupNames) {
	for _, g := range n.groups {
		if slices.Contains(g.tasks, task) {
			found = append(found, g)
		}
	}
	return found
}

// places are names of all tasks and allocations, as tests write them.
func (n *Names) places() (all []string) {
	for _, g := range n.groups {
		all = append(append(all, g.name), g.tasks...)
		all = append(all, g.tasksOf(g.name)...)
		for i := range min(g.count, 10) {
			alloc := fmt.Sprintf("%s[%d]", g.name, i)
			all = append(append(all, alloc), g.tasksOf(alloc)...)
		}
	}
	return all
}

// Destination returns the path of a template in the directory of its task.
func Destination(path string) string {
	for name, dir := range map[string]string{"NOMAD_TASK_DIR": "local", "NOMAD_SECRETS_DIR": "secrets", "NOMAD_ALLOC_DIR": "../alloc"} {
		path = strings.NewReplacer("${"+name+"}", dir, `${env["`+name+`"]}`, dir).Replace(path)
	}
	return strings.TrimPrefix(path, "./")
}
