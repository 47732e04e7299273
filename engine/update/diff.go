package update

import (
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/hashicorp/nomad/api"
)

// Types of differences, in Nomad's words.
const (
	none    = "None"
	added   = "Added"
	edited  = "Edited"
	deleted = "Deleted"
)

// diff returns the differences between two blocks, by path.
func diff(before, after values) []*api.FieldDiff {
	paths := values{}
	maps.Copy(paths, before)
	maps.Copy(paths, after)
	var fields []*api.FieldDiff
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		was, had := before[path]
		is, has := after[path]
		if had && has && was == is {
			continue
		}
		fields = append(fields, &api.FieldDiff{Type: kindOf(had, has, true), Name: path, Old: was, New: is})
	}
	return fields
}

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

// ofServer lists the fields of a job that no job file sets.
var ofServer = []string{
	"TaskGroups", "Stop", "ParentID", "Dispatched", "DispatchIdempotencyToken", "Payload", "NomadTokenID", "Status",
	"StatusDescription", "Stable", "Version", "SubmitTime", "CreateIndex", "ModifyIndex", "JobModifyIndex", "VersionTag",
}

func jobValues(job *api.Job) values {
	if job == nil {
		return nil
	}
	return valuesOf(job, ofServer...)
}

func groupValues(g *api.TaskGroup) values {
	if g == nil {
		return nil
	}
	v := valuesOf(g, "Tasks")
	for path := range v {
		if within(path, "Networks") && dynamicValue().MatchString(path) {
			delete(v, path) // the server assigns them
		}
	}
	return v
}

func taskValues(t *api.Task) values {
	if t == nil {
		return nil
	}
	return valuesOf(t)
}

var dynamicValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.DynamicPorts\[[^]]*\]\.Value$`) })
