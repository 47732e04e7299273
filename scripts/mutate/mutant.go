package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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

// mutants returns every mutant of a file, in the order of the source.
func mutants(file string, src []byte) ([]mutant, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(tree) {
		return nil, nil
	}
	var found []mutant
	f := &finder{set: set, src: src, file: file, found: &found}
	for _, d := range tree.Decls {
		f.function, f.results = "-", nil
		if fn, ok := d.(*ast.FuncDecl); ok {
			f.function, f.results = name(fn), fn.Type.Results
		}
		ast.Walk(f, d)
	}
	return found, nil
}

// name returns the name of a function, with its receiver's type.
func name(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}
