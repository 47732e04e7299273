package taskenv

import (
	"maps"
	"slices"
	"strings"
)

// meta returns the NOMAD_META_ variables with their literal values. Every key
// has two variables: one as written, and one in upper case.
func (b *Builder) meta(v *variables) map[string]string {
	effective := b.effectiveMeta()
	if len(effective) == 0 {
		return nil
	}
	meta := make(map[string]string, 2*len(effective))
	v.unwritten = map[string]bool{}
	keys := slices.Sorted(maps.Keys(effective))
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = Replace(key, v.lookup)
		meta[CleanName("NOMAD_META_"+strings.ToUpper(names[i]))] = effective[key]
	}
	for i, key := range keys { // a key written in upper case wins over a converted one
		meta[CleanName("NOMAD_META_"+names[i])] = effective[key]
	}
	for _, name := range names {
		for _, name := range []string{name, strings.ToUpper(name)} {
			if cleaned := strings.TrimPrefix(CleanName("NOMAD_META_"+name), "NOMAD_META_"); !canRefer(name) && !slices.Contains(names, cleaned) {
				v.unwritten["NOMAD_META_"+cleaned] = true
			}
		}
	}
	return meta
}

// effectiveMeta merges the meta blocks: the task's overrides the group's, which
// overrides the job's. A dispatch has added its meta to the job's.
func (b *Builder) effectiveMeta() map[string]string {
	meta := map[string]string{}
	if b.job != nil {
		if b.job.Dispatched && b.job.ParameterizedJob != nil {
			for _, key := range b.job.ParameterizedJob.MetaOptional {
				meta[key] = ""
			}
		}
		maps.Copy(meta, b.job.Meta)
	}
	if b.group != nil {
		maps.Copy(meta, b.group.Meta)
	}
	if b.task != nil {
		maps.Copy(meta, b.task.Meta)
	}
	return meta
}

// canRefer reports whether a reference can contain a name.
func canRefer(name string) bool {
	for i := range len(name) {
		if !isNameByte(name[i]) && name[i] != '-' {
			return false
		}
	}
	return true
}
