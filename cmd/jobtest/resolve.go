package jobtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Task returns the one task that a name [GROUP[INDEX]/]TASK means.
func (n *Names) Task(text string) (Place, *NameError) {
	t, err := n.parse(text)
	if err == nil && t.Task == "" {
		err = &NameError{fmt.Sprintf("%q is an allocation, not a task", text), "", did(text, n.group(t.Group).tasksOf(t.Alloc()))}
	}
	return n.single(t, text, err)
}

// Alloc returns the one allocation that a name GROUP[INDEX] means; without a name
// the only one there is.
func (n *Names) Alloc(text string) (Place, *NameError) {
	t, err := n.parse(text)
	if err == nil && t.Task != "" {
		err = &NameError{fmt.Sprintf("%q is a task, not an allocation", text), "", fmt.Sprintf("write %q", t.Alloc())}
	}
	return n.single(t, text, err)
}

// Any returns the one task or allocation that a name means.
func (n *Names) Any(text string) (Place, *NameError) {
	t, err := n.parse(text)
	return n.single(t, text, err)
}

// Several checks the name of tasks or allocations: without a group or an index it
// means those of all.
func (n *Names) Several(text string) (Place, *NameError) {
	t, err := n.Parse(text)
	if err == nil && t.Indexed {
		err = n.within(t.Place, text)
	}
	if err == nil && t.Number > 0 {
		err = &NameError{fmt.Sprintf("%q names one of several allocations by number", text), "only conditions can", fmt.Sprintf("write %q", strings.Replace(text, fmt.Sprintf("#%d", t.Number), "", 1))}
	}
	return t.Place, err
}

// single returns the one place that a target means, unless it has an error.
func (n *Names) single(t Target, text string, err *NameError) (Place, *NameError) {
	p := t.Place
	switch {
	case err != nil:
		return p, err
	case t.Indexed:
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

// A Target is the meaning of a name: tasks or allocations. Without an index it
// means those of the whole group, without a group those of all groups.
type Target struct {
	Place

	Indexed bool // the index was written
}

// Matches reports whether the target names an allocation, or a task in it.
func (t Target) Matches(group string, index int) bool {
	return (t.Group == "" || t.Group == group) && (!t.Indexed || t.Index == index)
}

// Parse reads the name of tasks or allocations. Without a group it means the tasks of
// that name in all groups.
func (n *Names) Parse(text string) (Target, *NameError) {
	if len(n.groupsWith(text)) > 1 {
		return Target{Place: Place{Task: text}}, nil
	}
	return n.parse(text)
}

// parse reads a name. A single word is a task or, if no task has that name, a
// group.
func (n *Names) parse(text string) (t Target, err *NameError) {
	head, task, both := strings.Cut(text, "/")
	parts := written().FindStringSubmatch(head)
	if text == "" && len(n.groups) == 1 {
		return Target{Place: Place{Group: n.groups[0].name}}, nil
	}
	if parts == nil || both && task == "" {
		return t, unknown("task or allocation", text, n.places())
	}
	if !both && parts[2] == "" && parts[4] == "" {
		if found := n.groupsWith(text); len(found) > 0 {
			return n.bare(text, found)
		}
	}
	i := slices.IndexFunc(n.groups, func(g *groupNames) bool { return g.name == parts[1] })
	switch {
	case i < 0 && both:
		return t, unknown("task", text, n.places())
	case i < 0:
		return t, unknown("task or allocation", text, n.places())
	case both && !slices.Contains(n.groups[i].tasks, task):
		near := n.groups[i].tasksOf(head)
		return t, unknown("task", text, append(near, n.places()...))
	}
	t = Target{Place: Place{Group: parts[1], Task: task}, Indexed: parts[2] != ""}
	t.Index, _ = strconv.Atoi(parts[3])
	t.Number, _ = strconv.Atoi(parts[5])
	if parts[5] != "" && t.Number == 0 {
		return t, &NameError{fmt.Sprintf("%q has no number 0", text), "the first allocation of a name is #1", ""}
	}
	return t, nil
}

// bare returns the place of a task that is named without its group.
func (n *Names) bare(task string, groups []*groupNames) (t Target, err *NameError) {
	if len(groups) == 1 {
		return Target{Place: Place{Group: groups[0].name, Task: task}}, nil
	}
	var all []string
	for _, g := range groups {
		all = append(all, g.name+"/"+task)
	}
	return t, &NameError{fmt.Sprintf("%q is ambiguous", task), "it may be " + strings.Join(all, ", "), ""}
}
