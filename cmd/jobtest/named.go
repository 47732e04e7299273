package jobtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// kind is a kind of things that groups have by name.
type kind struct {
	what string
	of   func(*groupNames) []string
}

var (
	servicesOf = kind{"service", func(g *groupNames) []string { return g.services }}
	checksOf   = kind{"check or service", func(g *groupNames) []string { return slices.Concat(g.checks, g.services) }}
	portsOf    = kind{"port", func(g *groupNames) []string { return g.ports }}
)

// Service checks the name of a service.
func (n *Names) Service(text string) *NameError { return n.has(servicesOf, n.groups, text) }

// Check returns where the check or the service with a check is that a name
// [GROUP[INDEX]/]NAME means; without an allocation the group is empty.
func (n *Names) Check(text string) (p Place, name string, err *NameError) {
	return n.of(checksOf, text)
}

// Port does the same for a port. Without an allocation it is the one that has such
// a port.
func (n *Names) Port(text string) (p Place, label string, err *NameError) {
	p, label, err = n.of(portsOf, text)
	if err != nil || p.Group != "" {
		return p, label, err
	}
	var groups []string
	for _, g := range n.groups {
		if slices.Contains(g.ports, label) {
			groups = append(groups, g.name)
		}
	}
	if len(groups) > 1 {
		return p, label, &NameError{fmt.Sprintf("port %q is ambiguous", label), "it may be " + strings.Join(groups, "/"+label+", ") + "/" + label, ""}
	}
	p, err = n.Alloc(groups[0])
	return p, label, err
}

func (n *Names) of(k kind, text string) (p Place, name string, err *NameError) {
	if n.has(k, n.groups, text) == nil {
		return p, text, nil // names may have slashes
	}
	head, name, both := strings.Cut(text, "/")
	if parts := written().FindStringSubmatch(head); both && parts != nil {
		if i := slices.IndexFunc(n.groups, func(g *groupNames) bool { return g.name == parts[1] }); i >= 0 {
			if p, err = n.Alloc(head); err != nil {
				return p, name, err
			}
			return p, name, n.has(k, n.groups[i:i+1], name)
		}
	}
	return p, text, n.has(k, n.groups, text)
}

// has checks that one of the groups has something of that name. A name with a
// reference, such as ${NOMAD_JOB_NAME}-web, stands for all that it may become.
func (n *Names) has(k kind, groups []*groupNames, text string) *NameError {
	var known []string
	for _, g := range groups {
		for _, name := range k.of(g) {
			if name == text || strings.Contains(name, "${") && pattern(name).MatchString(text) {
				return nil
			}
			known = append(known, name)
		}
	}
	slices.Sort(known)
	return unknown(k.what, text, slices.Compact(known))
}

func pattern(name string) *regexp.Regexp {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(name, "${")
		b.WriteString(regexp.QuoteMeta(before))
		if !found {
			return regexp.MustCompile("^" + b.String() + "$")
		}
		b.WriteString(".*")
		_, name, _ = strings.Cut(after, "}")
	}
}

// Template returns the path of a rendered template in the directory of its task.
func (n *Names) Template(task, destination string) (p Place, path string, err *NameError) {
	if p, err = n.Task(task); err != nil {
		return p, "", err
	}
	path = Destination(destination)
	known := n.group(p.Group).templates[p.Task]
	if !slices.ContainsFunc(known, func(k string) bool { return k == path || strings.Contains(k, "${") && pattern(k).MatchString(path) }) {
		return p, path, unknown(fmt.Sprintf("template of task %q with the destination", p.Task), destination, known)
	}
	return p, path, nil
}

// File returns the allocation of a path [GROUP[INDEX]/]PATH, and the path in its
// directory. The path begins with alloc or the name of a task.
func (n *Names) File(text string) (p Place, path string, err *NameError) {
	head, path, _ := strings.Cut(text, "/")
	if !strings.Contains(head, "[") && !strings.Contains(head, "#") {
		head, path = "", text
		if len(n.groups) > 1 {
			return p, path, &NameError{fmt.Sprintf("%q belongs to no allocation", text), "", fmt.Sprintf("write %q", Place{Group: n.groups[0].name}.Alloc()+"/"+text)}
		}
	}
	if p, err = n.Alloc(head); err != nil {
		return p, path, err
	}
	first, _, _ := strings.Cut(path, "/")
	if known := append([]string{"alloc"}, n.group(p.Group).tasks...); !slices.Contains(known, first) {
		return p, path, &NameError{fmt.Sprintf("there is no %q in the directory of an allocation", first), "it has " + strings.Join(known, ", "), did(first, known)}
	}
	return p, path, nil
}
