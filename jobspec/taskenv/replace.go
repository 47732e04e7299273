package taskenv

import (
	"encoding/json"
	"iter"
	"strings"
)

// References yields the names of the ${name} references in s that
// replacement would look up: one or more letters, digits, "_", "-" and ".",
// and nothing else between the braces.
func References(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			start, end := nextReference(s)
			if start < 0 || !yield(s[start+2:end-1]) {
				return
			}
			s = s[end:]
		}
	}
}

// ReferencesIn returns the names of all references in a part of a job.
func ReferencesIn(part any) map[string]bool {
	names := map[string]bool{}
	if text, err := json.Marshal(part); err == nil {
		for name := range References(string(text)) {
			names[name] = true
		}
	}
	return names
}

// Replace replaces the references in s that lookup knows, and leaves the
// others. It does not scan replacements again.
func Replace(s string, lookup func(name string) (string, bool)) string {
	start, end := nextReference(s)
	if start < 0 {
		return s
	}
	var out strings.Builder
	for start >= 0 {
		value, known := lookup(s[start+2 : end-1])
		if !known {
			value = s[start:end]
		}
		out.WriteString(s[:start])
		out.WriteString(value)
		s = s[end:]
		start, end = nextReference(s)
	}
	out.WriteString(s)
	return out.String()
}

// nextReference returns the start and end of the first reference in s, with its
// braces, or -1.
func nextReference(s string) (start, end int) {
	for from := 0; ; {
		i := strings.Index(s[from:], "${")
		if i < 0 {
			return -1, -1
		}
		start = from + i
		end = start + 2
		for end < len(s) && isReferenceByte(s[end]) {
			end++
		}
		if end > start+2 && end < len(s) && s[end] == '}' {
			return start, end + 1
		}
		from = end // bytes of a name cannot start a reference
	}
}

func isReferenceByte(c byte) bool {
	return isNameByte(c) || c == '-'
}
