package environment

import (
	"slices"
	"strings"

	"taskrun/jobspec/redact"
)

// Redact returns the variables of a task as sorted NAME=value, and the names of
// those whose values it has hidden.
//
// kept is the result of Public for a start of the task, and decides; variables that
// are not in it come from the image of the task. If kept is nil, the origin of most
// values is unknown. Redact then only shows values that come from Nomad, belong to
// known variables of the host, or are literally in the env block of the task. It
// always hides tokens, the credentials of URLs, and values of variables whose names
// suggest a secret.
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
