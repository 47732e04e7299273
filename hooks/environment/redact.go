package environment

import (
	"slices"
	"strings"

	"taskrun/jobspec/redact"
)

// Redact returns the variables of a task as sorted NAME=value, and the names of those
// whose values it has hidden.
//
// Kept is what Public has returned for a start of the task, and decides; variables that
// it does not have are those of the task's image. If it is nil, little is known of
// where the values come from: only those are shown that come from Nomad, are known
// variables of the host, or are in the task's env block as they are. Values of
// variables whose names suggest a secret are always hidden, and so are tokens and the
// credentials of URLs.
func Redact(variables map[string]string, kept []string, block map[string]string) (list, hidden []string) {
	public := map[string]bool{}
	for _, variable := range kept {
		name, value, _ := strings.Cut(variable, "=")
		public[name] = value != redact.Hidden
	}
	show := func(name, value string) bool {
		if known, ok := public[name]; ok {
			return known
		}
		raw, inBlock := block[name]
		switch {
		case slices.Contains(knownVariables, name):
			return true
		case hasSecretWord(name):
			return false
		case strings.HasPrefix(name, "NOMAD_"), strings.HasPrefix(name, "LC_"), kept != nil:
			return true
		}
		return inBlock && raw == value
	}
	clean := redact.Values(nil, 0, redact.Hidden)
	for name, value := range variables {
		switch shown := clean(value); {
		case show(name, value):
			list = append(list, name+"="+shown)
		default:
			list = append(list, name+"="+redact.Hidden)
			hidden = append(hidden, name)
		}
	}
	slices.Sort(list)
	slices.Sort(hidden)
	return list, hidden
}
