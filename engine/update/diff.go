package update

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/hashicorp/nomad/api"
)

// Types of differences, in Nomad's words.
const (
	none    = "None"
	added   = "Added"
	edited  = "Edited"
	deleted = "Deleted"
)

// wholes are the objects that have no identity but their content.
var wholes = []string{"Constraint", "Affinity", "Spread", "Network"}

// keyed are the objects that only their keys identify.
var keyed = []string{"Artifact", "Check", "ConsulUpstreams"}

// kindOf returns the type of a difference.
func kindOf(had, has, changed bool) string {
	switch {
	case !had:
		return added
	case !has:
		return deleted
	case changed:
		return edited
	}
	return none
}

// diffBlocks returns the differences between two versions of a job, a group or a
// task in the form of Nomad's plans: which of its own fields differ, and all fields
// of blocks that do. One of the two may be missing.
func diffBlocks(before, after any, without ...string) ([]*api.FieldDiff, []*api.ObjectDiff) {
	was := cmp.Or(blockOf("", reflect.ValueOf(before), without...), &block{})
	is := cmp.Or(blockOf("", reflect.ValueOf(after), without...), &block{})
	return diffFields(was, is, false), diffNested(was, is, false)
}

// diffFields returns the differences of the fields. Equal ones are included if all
// are wanted.
func diffFields(was, is *block, all bool) (diffs []*api.FieldDiff) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(was.fields)), maps.Keys(is.fields))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		before, after := was.fields[name], is.fields[name]
		if all || before != after {
			diffs = append(diffs, &api.FieldDiff{Type: kindOfField(before, after), Name: name, Old: before, New: after})
		}
	}
	return diffs
}

func kindOfField(before, after string) string {
	if before == after {
		return none
	}
	return kindOf(before != "", after != "", true)
}

// diffNested returns the blocks in two blocks that differ. Equal lists of strings
// are included if all are wanted.
func diffNested(was, is *block, all bool) (diffs []*api.ObjectDiff) {
	var names []string
	for _, n := range slices.Concat(was.blocks, is.blocks) {
		names = append(names, n.object)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	for _, name := range slices.Compact(names) {
		for _, p := range pairs(name, was.named(name), is.named(name)) {
			if d := diffObject(name, p[0], p[1]); d.Type != none || all && p[0].set != nil {
				diffs = append(diffs, d)
			}
		}
	}
	return diffs
}

// pairs pairs the versions of blocks by Nomad's rules: equal ones, then those with
// the same key, then the others in their order, unless only their content or their
// key identifies them. Several templates are identified by their keys; of several
// services, the others need the same place. A block without another version is
// paired with nil.
func pairs(object string, was, is []nested) (all [][2]*block) {
	several := len(was) > 1 || len(is) > 1
	pair := func(keyOf func(nested) string) {
		waiting := map[string][]int{}
		for i, a := range was {
			key := keyOf(a)
			waiting[key] = append(waiting[key], i)
		}
		paired := map[int]bool{}
		is = slices.DeleteFunc(is, func(b nested) bool {
			key := keyOf(b)
			if key == "" || len(waiting[key]) == 0 {
				return false
			}
			i := waiting[key][0]
			waiting[key], paired[i] = waiting[key][1:], true
			all = append(all, [2]*block{&was[i].block, &b.block})
			return true
		})
		var left []nested
		for i, a := range was {
			if !paired[i] {
				left = append(left, a)
			}
		}
		was = left
	}
	pair(func(n nested) string { return fmt.Sprintf("%q", n) })
	pair(func(n nested) string { return n.key })
	switch {
	case slices.Contains(wholes, object), slices.Contains(keyed, object), several && object == "Template":
	case several && object == "Service":
		pair(func(n nested) string { return n.place })
	default:
		pair(func(nested) string { return object })
	}
	for _, b := range is {
		all = append(all, [2]*block{nil, &b.block})
	}
	for _, a := range was {
		all = append(all, [2]*block{&a.block, nil})
	}
	return all
}

func diffObject(name string, before, after *block) *api.ObjectDiff {
	was, is := cmp.Or(before, &block{}), cmp.Or(after, &block{})
	if was.set != nil || is.set != nil {
		return diffStrings(name, was.set, is.set)
	}
	d := &api.ObjectDiff{Name: name, Fields: diffFields(was, is, name != "Scaling"), Objects: diffNested(was, is, true)}
	d.Type = kindOf(before != nil, after != nil,
		slices.ContainsFunc(d.Fields, func(f *api.FieldDiff) bool { return f.Type != none }) ||
			slices.ContainsFunc(d.Objects, func(o *api.ObjectDiff) bool { return o.Type != none }))
	return d
}

// diffStrings returns the difference of two lists of strings, whose order does not
// matter: the new ones, then the others.
func diffStrings(name string, was, is []string) *api.ObjectDiff {
	d := &api.ObjectDiff{Name: name}
	kinds := map[string]bool{}
	add := func(kind, before, after string) {
		kinds[kind] = true
		d.Fields = append(d.Fields, &api.FieldDiff{Type: kind, Name: name, Old: before, New: after})
	}
	for _, s := range is {
		if !slices.Contains(was, s) {
			add(added, "", s)
		}
	}
	for _, s := range was {
		if slices.Contains(is, s) {
			add(none, s, s)
		} else {
			add(deleted, s, "")
		}
	}
	d.Type = kindOf(!kinds[added] || kinds[deleted], !kinds[deleted] || kinds[added], kinds[added])
	return d
}
