package jobspec

import (
	"strconv"
	"strings"
)

// A Path identifies a place in a job in the terms of the job file, such as
//
//	job.group[0].task[1].config.command
//	job.group[0].network[0].port["http"].static
//
// Blocks that become a slice in api.Job have their index in that slice; ports
// (which are split into two slices) and blocks that become a map have their label;
// single blocks have neither. Attributes and keys of free-form maps follow after a
// dot. The root is "job".
type Path string

// Root is the path of the job block.
const Root Path = "job"

// Attr returns the path of an attribute, a single block, or a map key below p.
func (p Path) Attr(name string) Path { return p + "." + Path(name) }

// Index returns the path of the i-th block of a kind below p.
func (p Path) Index(kind string, i int) Path {
	return p + Path("."+kind+"["+strconv.Itoa(i)+"]")
}

// Label returns the path of a labeled block of a kind below p.
func (p Path) Label(kind, label string) Path {
	return p + Path("."+kind+"["+strconv.Quote(label)+"]")
}

// Parent returns the path without its last step, or "" for the root. Brackets
// may contain quoted dots, so it cuts at the last dot outside of quotes.
func (p Path) Parent() Path {
	quoted, cut := false, -1
	s := string(p)
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '.' && !quoted:
			cut = i
		}
	}
	if cut < 0 {
		return ""
	}
	return p[:cut]
}

// in reports whether p is around or inside of it.
func (p Path) in(around Path) bool {
	rest, ok := strings.CutPrefix(string(p), string(around))
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Name returns the last step of the path without its brackets.
func (p Path) Name() string {
	s := strings.TrimPrefix(string(p[len(p.Parent()):]), ".")
	if i := strings.IndexByte(s, '['); i >= 0 {
		return s[:i]
	}
	return s
}
