package validate

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxActionName = 128 // characters

func (t *task) actions() {
	seen := make(map[string]bool, len(t.t.Actions))
	for i, a := range t.t.Actions {
		a, at := orEmpty(a), t.at.Index("action", i)
		if a.Command == "" {
			t.refuse(at, "action has no command", fmt.Sprintf("action %q", a.Name), `add command = "/PATH"`)
		}
		blank := strings.ContainsFunc(a.Name, func(r rune) bool { return r == 0 || unicode.IsSpace(r) })
		if n := utf8.RuneCountInString(a.Name); n < 1 || n > maxActionName || blank {
			t.refuse(at, "invalid action name", fmt.Sprintf("%q", a.Name), fmt.Sprintf("write 1 to %d characters without blanks", maxActionName))
		}
		if seen[a.Name] {
			t.refuse(at, fmt.Sprintf("action %q is defined twice", a.Name), fmt.Sprintf("in task %q", t.t.Name), "rename one of them")
		}
		seen[a.Name] = true
	}
}
