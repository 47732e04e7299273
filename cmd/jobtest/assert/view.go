package assert

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"taskrun/cmd/jobtest"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// view is an outcome as conditions see it.
type view struct {
	o      *story
	run    *jobtest.Run
	names  *jobtest.Names
	values jobtest.Values
	hide   mask

	looked []string // targets that the latest condition has looked at
	secret bool     // the latest expression has looked at a secret
}

func newView(run *jobtest.Run, o *jobtest.Outcome) *view {
	s := storyOf(o)
	v := &view{o: s, run: run, names: jobtest.NamesOf(o.State.Jobs...), hide: maskOf(o)}
	for _, a := range o.State.Allocs {
		v.names.Add(a)
	}
	v.values = jobtest.Values{Run: s.runObject(run), Exec: s.execs(run), Diagnostics: texts(o.Notices)}
	return v
}

// answer does what a function of conditions does.
func (v *view) answer(name string, args []string) (cty.Value, error) {
	switch name {
	case "allocs":
		return v.allocs(args[0])
	case "event":
		return v.event(args[0], args[1:])
	case "service":
		return v.service(args[0])
	case "check":
		return v.check(args[0])
	case "deployment":
		return v.deployment(args)
	}
	p, part, bad := v.place(name, args)
	if bad != nil {
		return cty.NilVal, bad
	}
	a, err := v.seen(p)
	if err != nil {
		return cty.NilVal, err
	}
	switch name {
	case "task":
		return v.task(a, p)
	case "alloc":
		return v.o.allocObject(a), nil
	case "port":
		return v.port(a, p, part)
	}
	return v.read(a, p, part)
}

// place returns the allocation at which a function looks, and what of it: the label
// of a port, or the path of a file.
func (v *view) place(function string, args []string) (p jobtest.Place, part string, bad *jobtest.NameError) {
	switch function {
	case "task":
		p, bad = v.names.Task(args[0])
	case "alloc":
		p, bad = v.names.Alloc(args[0])
	case "port":
		return v.names.Port(args[0])
	case "file":
		return v.names.File(args[0])
	case "template":
		p, part, bad = v.names.Template(args[0], args[1])
		part = path.Join(p.Task, part)
	default:
		bad = &jobtest.NameError{Summary: fmt.Sprintf("there is no function %q", function)}
	}
	return p, part, bad
}

// allocs returns the allocations of a group that nothing has replaced, by their index.
func (v *view) allocs(group string) (cty.Value, error) {
	if bad := v.names.Group(group); bad != nil {
		return cty.NilVal, bad
	}
	final := slices.DeleteFunc(v.o.State.Final(), func(a *fold.Alloc) bool { return a.Group != group })
	slices.SortStableFunc(final, func(a, b *fold.Alloc) int { return cmp.Compare(a.Index(), b.Index()) })
	if len(final) == 0 {
		return cty.ListValEmpty(jobtest.AllocType), nil
	}
	list := make([]cty.Value, len(final))
	for i, a := range final {
		v.look(jobtest.Place{Group: group, Index: a.Index()})
		list[i] = v.o.allocObject(a)
	}
	return cty.ListVal(list), nil
}

// look notes that a condition looks at a place.
func (v *view) look(p jobtest.Place) {
	target := strings.TrimSuffix(p.Alloc()+"/"+p.Task, "/")
	if !slices.Contains(v.looked, target) {
		v.looked = append(v.looked, target)
	}
}

// seen returns the allocation of a place, and notes that a condition looks at it.
func (v *view) seen(p jobtest.Place) (*fold.Alloc, error) {
	v.look(p)
	return v.o.find(p)
}

// wrong converts err. Without it, a nil *NameError would be an error that is not
// nil.
func wrong(err *jobtest.NameError) error {
	if err == nil {
		return nil
	}
	return err
}

func (v *view) task(a *fold.Alloc, p jobtest.Place) (cty.Value, error) {
	for _, t := range a.Tasks {
		if t.Name == p.Task {
			return v.o.taskObject(t), nil
		}
	}
	return cty.NilVal, fmt.Errorf("allocation %q has no task %q", p.Alloc(), p.Task)
}

// event returns the events of a task, of an allocation or, with the ID of the job or
// no name, of the run.
func (v *view) event(name string, kinds []string) (cty.Value, error) {
	kind := ""
	if len(kinds) > 0 {
		kind = kinds[0]
		if !slices.Contains(jobtest.EventTypes, kind) {
			return cty.NilVal, fmt.Errorf("there is no event type %q", kind)
		}
	}
	if v.names.Job(name) == nil {
		return v.o.eventList(v.o.Events, kind), nil
	}
	p, bad := v.names.Any(name)
	if bad != nil {
		return cty.NilVal, bad
	}
	v.look(p)
	id := ""
	if p.Number > 0 {
		a, err := v.o.find(p)
		if err != nil {
			return cty.NilVal, err
		}
		id = a.ID
	}
	var found []event.Event
	for _, e := range v.o.events[p.Alloc()] {
		if (p.Task == "" || e.Task == p.Task) && (id == "" || e.Alloc.ID == id) {
			found = append(found, e)
		}
	}
	return v.o.eventList(found, kind), nil
}

func (v *view) service(name string) (cty.Value, error) {
	var all []cty.Value
	for _, a := range v.o.State.Allocs {
		for _, s := range a.Services {
			if s.Name == name {
				all = append(all, serviceObject(a, s))
			}
		}
	}
	if len(all) == 0 {
		return cty.ListValEmpty(jobtest.ServiceType), wrong(v.names.Service(name))
	}
	return cty.ListVal(all), nil
}

// check returns the check of a service that does not pass or, if all do, the first.
func (v *view) check(text string) (cty.Value, error) {
	p, name, bad := v.names.Check(text)
	if bad != nil {
		return cty.NilVal, bad
	}
	allocs := v.o.State.Final()
	if p.Group != "" {
		a, err := v.seen(p)
		if err != nil {
			return cty.NilVal, err
		}
		allocs = []*fold.Alloc{a}
	}
	found := checkObject("", event.Check{Check: name, Status: "pending"})
	first := true
	for _, a := range allocs {
		for _, c := range a.Checks {
			if c.Check != name && c.Service != name {
				continue
			}
			v.look(placeOf(a))
			if first || c.Status != "success" {
				found, first = checkObject(nameOf(a), c), false
			}
			if c.Status != "success" {
				return found, nil
			}
		}
	}
	return found, nil
}

// port returns the number of a port on the machine, as the tasks know it.
func (v *view) port(a *fold.Alloc, p jobtest.Place, label string) (cty.Value, error) {
	for _, t := range a.Tasks {
		env := v.o.outcome(t).Env
		for _, label := range []string{label, strings.ReplaceAll(label, "-", "_")} {
			if n, err := strconv.ParseInt(env["NOMAD_HOST_PORT_"+label], 10, 32); err == nil {
				return cty.NumberIntVal(n), nil
			}
		}
	}
	return cty.NilVal, fmt.Errorf("port %q is not known: no task of %s has started", label, p.Alloc())
}

func (v *view) deployment(job []string) (cty.Value, error) {
	id := ""
	if len(job) > 0 {
		id = job[0]
	}
	if bad := v.names.Job(id); bad != nil {
		return cty.NilVal, bad
	}
	for _, d := range slices.Backward(v.o.State.Deployments) {
		if id == "" || d.Job == id {
			return v.o.deploymentObject(d), nil
		}
	}
	return cty.NilVal, errors.New("there was no deployment")
}

// read returns a file of an allocation, as file() does for those beside the test.
func (v *view) read(a *fold.Alloc, p jobtest.Place, file string) (cty.Value, error) {
	file = path.Clean(file)
	if slices.Contains(strings.Split(file, "/"), "secrets") || slices.Contains(strings.Split(file, "/"), "private") {
		v.secret = true
	}
	if v.o.ReadFile == nil {
		return cty.NilVal, errors.New("the files of this run are gone")
	}
	text, err := v.o.ReadFile(a.ID, file)
	switch {
	case err != nil:
		return cty.NilVal, fmt.Errorf("cannot read %q of %s: %w", file, p.Alloc(), err)
	case !utf8.Valid(text):
		return cty.NilVal, fmt.Errorf("%q of %s is not valid UTF-8", file, p.Alloc())
	}
	return cty.StringVal(string(text)), nil
}
