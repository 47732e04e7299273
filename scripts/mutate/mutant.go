package main

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// A mutant is one change of one file: the bytes from start to end become text.
type mutant struct {
	file       string // from the root of the module
	line, col  int
	function   string
	statement  position // zero outside of functions
	start, end int
	old, text  string
	what       string // the operator
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d:%d %s: %s", m.file, m.line, m.col, m.function, m.change())
}

// name identifies the mutant independently of its line number.
func (m mutant) name() string { return m.file + " " + m.function + ": " + m.change() }

func (m mutant) change() string {
	old := shorten(m.old)
	if m.text == "" {
		return m.what + " `" + old + "`"
	}
	return m.what + " `" + old + "` → `" + shorten(m.text) + "`"
}

// shorten shortens a line of code for a report.
func shorten(code string) string {
	s := strings.Join(strings.Fields(code), " ")
	if r := []rune(s); len(r) > 60 {
		s = string(r[:59]) + "…"
	}
	return s
}

// apply returns the source with the mutant.
func (m mutant) apply(src []byte) []byte {
	out := append([]byte{}, src[:m.start]...)
	out = append(out, m.text...)
	return append(out, src[m.end:]...)
}

// A position is a line and a column.
type position [2]int

func positionOf(p token.Position) position { return position{p.Line, p.Column} }

// before reports whether p comes before q.
func (p position) before(q position) bool { return slices.Compare(p[:], q[:]) < 0 }
