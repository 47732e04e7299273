package jobtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Task returns the one task that a name [GROUP[INDEX]/]TASK means.
func (n *Names) Task(text string) (Place, *NameError) {
	p, indexed, err := n.parse(text)
	if err != nil {
		return p, err
	}
	if p.Task == "" {
		return p, &NameError{fmt.Sprintf("%q is an allocation, not a task", text), "", did(text, n.group(p.Group).tasksOf(p.Alloc()))}
	}
	return n.single(p, indexed, text)
}

// Alloc returns the one allocation that a name GROUP[INDEX] means; without a name
// the only one there is.
func (n *Names) Alloc(text string) (Place, *NameError) {
	p, indexed, err := n.parse(text)
	if err != nil {
		return p, err
	}
	if p.Task != "" {
		return p, &NameError{fmt.Sprintf("%q is a task, not an allocation", text), "", fmt.Sprintf("write %q", p.Alloc())}
	}
	return n.single(p, indexed, text)
}

// Any returns the one task or allocation that a name means.
func (n *Names) Any(text string) (Place, *NameError) {
	p, indexed, err := n.parse(text)
	if err != nil {
		return p, err
	}
	return n.single(p, indexed, text)
}

// Several checks the name of tasks or allocations: without a group or an index it
// means those of all.
func (n *Names) Several(text string) (Place, *NameError) {
	p, indexed, err := n.Parse(text)
	if err == nil && indexed {
		err = n.within(p, text)
	}
	if err == nil && p.Number > 0 {
		err = &NameError{fmt.Sprintf("%q names one of several allocations by number", text), "only conditions can", fmt.Sprintf("write %q", strings.Replace(text, fmt.Sprintf("#%d", p.Number), "", 1))}
	}
	return p, err
}

// single fills in the index that was not written.
func (n *Names) single(p Place, indexed bool, text string) (Place, *NameError) {
	if indexed {
		return p, n.within(p, text)
	}
	if count := n.group(p.Group).count; count > 1 {
		var all []string
		for i := range min(count, 3) {
			p.Index = i
			all = append(all, strings.TrimSuffix(p.Alloc()+"/"+p.Task, "/"))
		}
		if count > len(all) {
			all = append(all, "…")
		}
		return p, &NameError{fmt.Sprintf("%q is ambiguous", text), "it may be " + strings.Join(all, ", "), ""}
	}
	return p, nil
}

func (n *Names) within(p Place, text string) *NameError {
	if count := n.group(p.Group).count; p.Index >= count {
		detail := fmt.Sprintf("group %q has %d allocations", p.Group, count)
		if count == 1 {
			detail = fmt.Sprintf("group %q has 1 allocation", p.Group)
		}
		return &NameError{fmt.Sprintf("there is no allocation %q", p.Alloc()), detail, did(text, nil)}
	}
	return nil
}

// Parse reads the name of tasks or allocations, and reports whether it has an index.
// Without a group it means the tasks of that name in all groups.
func (n *Names) Parse(text string) (p Place, indexed bool, err *NameError) {
	if len(n.groupsWith(text)) > 1 {
		return Place{Task: text}, false, nil
	}
	return n.parse(text)
}

// parse reads a name. A single word is a task or, if there is none of that name, a
// group.
func (n *Names) parse(text string) (p Place, indexed bool, err *NameError) {
	head, task, both := strings.Cut(text, "/")
	parts := written().FindStringSubmatch(head)
	if text == "" && len(n.groups) == 1 {
		return Place{Group: n.groups[0].name}, false, nil
	}
	if parts == nil || both && task == "" {
		return p, false, unknown("task or allocation", text, n.places())
	}
	if !both && parts[2] == "" && parts[4] == "" {
		if found := n.groupsWith(text); len(found) > 0 {
			return n.bare(text, found)
		}
	}
	i := slices.IndexFunc(n.groups, func(g *groupNames) bool { return g.name == parts[1] })
	switch {
	case i < 0 && both:
		return p, false, unknown("task", text, n.places())
	case i < 0:
		return p, false, unknown("task or allocation", text, n.places())
	case both && !slices.Contains(n.groups[i].tasks, task):
		near := n.groups[i].tasksOf(head)
		return p, false, unknown("task", text, append(near, n.places()...))
	}
	p = Place{Group: parts[1], Task: task}
	p.Index, _ = strconv.Atoi(parts[3])
	p.Number, _ = strconv.Atoi(parts[5])
	if parts[5] != "" && p.Number == 0 {
		return p, false, &NameError{fmt.Sprintf("%q has no number 0", text), "the first allocation of a name is #1", ""}
	}
	return p, parts[2] != "", nil
}

// bare returns the place of a task that is named without its group.
func (n *Names) bare(task string, groups []*groupNames) (Place, bool, *NameError) {
	if len(groups) == 1 {
		return Place{Group: groups[0].name, Task: task}, false, nil
	}
	var all []string
	for _, g := range groups {
		all = append(all, g.name+"/"+task)
	}
	return Place{}, false, &NameError{fmt.Sprintf("%q is ambiguous", task), "it may be " + strings.Join(all, ", "), ""}
}
