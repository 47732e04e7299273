package verify

import (
	"regexp"
	"sync"

	"taskrun/cmd/report/compare"
)

// intended is an intended difference.
type intended struct {
	kind compare.Kind
	name string // a regular expression for the whole name; empty: any
	// nomad and taskrun are regular expressions for the whole values; empty: any.
	nomad, taskrun string
	why            string // as in "taskrun help differences"
}

// declared lists the intended differences between a run of Nomad, the first side,
// and of taskrun.
var declared = []intended{
	{compare.File, `[^/]+/executor\.out`, `.+`, ``, "taskrun runs no executor process, which writes this log"},
	{compare.File, `alloc|[^/]+|[^/]+/(local|tmp|secrets|private)|alloc/(data|tmp|logs)`, `d.*`, `d.*`, "directories belong to the user of taskrun or of the task, and nobody else can write there"},
	{compare.File, `[^/]+/(secrets|private)`, `d.*`, ``, "secrets are deleted when the allocation ends"},
	{compare.File, `[^/]+/\.nomad-mount`, ``, ``, "no file system is mounted for the directory"},
	{compare.File, `alloc/logs/.*`, ``, ``, "the pipes of the output are where no task can reach them"},
}

// Declared returns why a difference between Nomad and taskrun is intended, or "".
func Declared(d compare.Difference) string {
	for i, of := range declared {
		if of.kind == d.Kind && patterns()[i].match(d) {
			return of.why
		}
	}
	return ""
}

// pattern is the compiled form of an intended difference; nil matches anything.
type pattern struct{ name, nomad, taskrun *regexp.Regexp }

var patterns = sync.OnceValue(func() (list []pattern) {
	compile := func(s string) *regexp.Regexp {
		if s == "" {
			return nil
		}
		return regexp.MustCompile(`^(?s:` + s + `)$`)
	}
	for _, of := range declared {
		list = append(list, pattern{compile(of.name), compile(of.nomad), compile(of.taskrun)})
	}
	return list
})

func (p pattern) match(d compare.Difference) bool {
	value := func(re *regexp.Regexp, s *string) bool { return re == nil || s != nil && re.MatchString(*s) }
	return (p.name == nil || p.name.MatchString(d.Name)) && value(p.nomad, d.A) && value(p.taskrun, d.B)
}
