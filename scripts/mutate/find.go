package main

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// A finder walks through the syntax of one function and collects its mutants.
type finder struct {
	set      *token.FileSet
	src      []byte
	file     string
	function string
	results  *ast.FieldList // of the innermost function
	at       token.Pos      // the innermost statement that coverage counts
	comm     ast.Stmt       // the communication of the innermost case of a select
	found    *[]mutant
}

// opposite and boundary map operators to their replacements. An operator that
// does not suit its operands makes a mutant that does not compile.
var (
	opposite = map[token.Token]token.Token{
		token.EQL: token.NEQ, token.NEQ: token.EQL,
		token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR,
		token.LAND: token.LOR, token.LOR: token.LAND,
		token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
		token.REM: token.MUL, token.AND: token.OR, token.OR: token.AND,
		token.SHL: token.SHR, token.SHR: token.SHL,
		token.INC: token.DEC, token.DEC: token.INC,
		token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
		token.OR_ASSIGN: token.AND_ASSIGN, token.AND_ASSIGN: token.OR_ASSIGN,
	}
	boundary = map[token.Token]token.Token{
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	}
)

// Visit collects the mutants of one node.
func (f *finder) Visit(n ast.Node) ast.Visitor {
	f = f.inside(n)
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.operator("negate", opposite, n.Op, n.OpPos)
		f.operator("boundary", boundary, n.Op, n.OpPos)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.add("negate", n.Pos(), n.End(), f.text(n.X))
		}
	case *ast.IncDecStmt:
		f.operator("negate", opposite, n.Tok, n.TokPos)
		f.drop(n)
	case *ast.AssignStmt:
		f.operator("negate", opposite, n.Tok, n.TokPos)
		if n.Tok != token.DEFINE && !discards(n) {
			f.drop(n)
		}
	case *ast.IfStmt:
		f.condition(n.Cond)
		if n.Else != nil {
			f.add("drop", n.Body.End(), n.Else.End(), "")
		}
	case *ast.ForStmt:
		if n.Cond != nil {
			f.condition(n.Cond)
		}
	case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt, *ast.BranchStmt:
		f.drop(n)
	case *ast.CaseClause:
		if len(n.Body) > 0 {
			f.add("drop", n.Body[0].Pos(), n.End(), "")
		}
	case *ast.ReturnStmt:
		f.returned(n)
	}
	return f
}

// inside returns the finder of the mutants inside a node.
func (f *finder) inside(n ast.Node) *finder {
	inner := *f
	switch n := n.(type) {
	case *ast.FuncLit:
		inner.results = n.Type.Results
	case *ast.CommClause:
		inner.comm = n.Comm
	case *ast.CaseClause, *ast.BlockStmt: // coverage counts their statements, and their switch
	case ast.Stmt:
		if n != f.comm {
			inner.at = n.Pos()
		}
	}
	return &inner
}

// discards reports whether a statement only marks a value as unused.
func discards(n *ast.AssignStmt) bool {
	x, ok := n.Lhs[0].(*ast.Ident)
	_, call := n.Rhs[0].(*ast.CallExpr)
	return ok && len(n.Lhs) == 1 && x.Name == "_" && !call
}

// condition negates a condition unless a mutant of its operator does.
func (f *finder) condition(cond ast.Expr) {
	switch x := cond.(type) {
	case *ast.UnaryExpr:
		return
	case *ast.BinaryExpr:
		if x.Op != token.LAND && x.Op != token.LOR {
			return
		}
	}
	f.add("negate", cond.Pos(), cond.End(), "!("+f.text(cond)+")")
}

// returned replaces each value of a return statement by another one of its
// type.
func (f *finder) returned(n *ast.ReturnStmt) {
	types := resultTypes(f.results)
	if len(types) != len(n.Results) {
		return
	}
	for i, x := range n.Results {
		old := f.text(x)
		if other := zero(types[i], old); other != old {
			f.add("return", x.Pos(), x.End(), other)
		}
	}
}

// resultTypes returns the type of each result of a function.
func resultTypes(results *ast.FieldList) []ast.Expr {
	var types []ast.Expr
	if results == nil {
		return nil
	}
	for _, field := range results.List {
		for range max(1, len(field.Names)) {
			types = append(types, field.Type)
		}
	}
	return types
}

// zero returns another value of a type: usually its zero value, and value
// itself if the syntax does not show the type.
func zero(t ast.Expr, value string) string {
	switch t := t.(type) {
	case *ast.StarExpr, *ast.MapType, *ast.FuncType, *ast.ChanType, *ast.InterfaceType:
		return "nil"
	case *ast.ArrayType:
		if t.Len == nil {
			return "nil"
		}
	case *ast.Ident:
		switch t.Name {
		case "error":
			return "nil"
		case "string":
			return `""`
		case "int", "int64", "int32", "uint", "uint64", "uint32", "float64", "byte", "rune":
			return "0"
		case "bool":
			switch value {
			case "true":
				return "false"
			case "false":
				return "true"
			}
			return "!(" + value + ")"
		}
	}
	return value
}

// operator replaces an operator that has a replacement.
func (f *finder) operator(what string, others map[token.Token]token.Token, op token.Token, at token.Pos) {
	if other, ok := others[op]; ok {
		f.add(what, at, at+token.Pos(len(op.String())), other.String())
	}
}

// drop removes a statement.
func (f *finder) drop(n ast.Node) { f.add("drop", n.Pos(), n.End(), "") }

func (f *finder) add(what string, from, to token.Pos, text string) {
	at := f.set.Position(from)
	start, end := at.Offset, f.set.Position(to).Offset
	*f.found = append(*f.found, mutant{
		file: f.file, line: at.Line, col: at.Column, function: f.function, statement: positionOf(f.set.Position(f.at)),
		start: start, end: end, old: string(f.src[start:end]), text: text, what: what,
	})
}

func (f *finder) text(n ast.Node) string {
	return string(f.src[f.set.Position(n.Pos()).Offset:f.set.Position(n.End()).Offset])
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
