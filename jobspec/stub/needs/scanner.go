package needs

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/stub"
)

// Calls finds the calls in the text of a template. It returns none if the text
// cannot be parsed, which preflight reports.
func Calls(t *api.Template) []Call {
	text, left, right := deref(t.EmbeddedTmpl), deref(t.LeftDelim), deref(t.RightDelim)
	tree := parse.New("template")
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, left, right, trees); err != nil {
		return nil
	}
	s := &scanner{text: text, vars: map[string]part{}}
	if t.Envvars != nil && *t.Envvars {
		s.lines = strings.Split(actions(left, right).ReplaceAllLiteralString(text, ""), "\n")
	}
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		s.list(trees[name].Root, part{})
	}
	slices.SortStableFunc(s.calls, func(a, b *Call) int { return a.Line - b.Line })
	found := make([]Call, len(s.calls))
	for i, c := range s.calls {
		found[i] = *c
	}
	return found
}

// scanner walks through a template, and tracks where it uses the results of
// calls.
type scanner struct {
	text  string
	calls []*Call
	vars  map[string]part // variables of the template
	last  value           // of the latest command
	// lines are those of a template with env = true, without the actions.
	lines []string
}

func actions(left, right string) *regexp.Regexp {
	return regexp.MustCompile(regexp.QuoteMeta(cmp.Or(left, "{{")) + ".*?" + regexp.QuoteMeta(cmp.Or(right, "}}")))
}

// assignment is a value that can be a line of a template with env = true.
const assignment = "TODO=1"

// isLine reports whether an action is a line of a template with env = true, so
// that its value must be a list of variables.
func (s *scanner) isLine(n *parse.ActionNode) bool {
	return len(n.Pipe.Decl) == 0 && n.Line <= len(s.lines) && strings.TrimSpace(s.lines[n.Line-1]) == ""
}

// part is the result of a call, or a field of it. The zero value is anything else.
type part struct {
	*Call

	fields []string
}

func (s *scanner) list(list *parse.ListNode, dot part) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			if s.pipe(n.Pipe, dot); s.isLine(n) {
				s.last.becomes(assignment)
			}
		case *parse.IfNode:
			s.pipe(n.Pipe, dot)
			s.list(n.List, dot)
			s.list(n.ElseList, dot)
		case *parse.WithNode:
			s.list(n.List, s.pipe(n.Pipe, dot))
			s.list(n.ElseList, dot)
		case *parse.RangeNode:
			s.pipe(n.Pipe, dot)
			for _, v := range n.Pipe.Decl { // elements
				delete(s.vars, v.Ident[0])
			}
			s.list(n.List, part{})
			s.list(n.ElseList, dot)
		case *parse.TemplateNode:
			if n.Pipe != nil {
				s.pipe(n.Pipe, dot)
			}
		}
	}
}

func (s *scanner) pipe(p *parse.PipeNode, dot part) (answer part) {
	for i, cmd := range p.Cmds {
		if f, ok := cmd.Args[0].(*parse.IdentifierNode); ok && i > 0 {
			s.last.converts(f.Ident)
		}
		answer = s.command(cmd, dot, i > 0)
	}
	for _, v := range p.Decl {
		s.vars[v.Ident[0]] = answer
	}
	return answer
}

func (s *scanner) command(cmd *parse.CommandNode, dot part, piped bool) (answer part) {
	s.last = value{}
	f, isFunction := cmd.Args[0].(*parse.IdentifierNode)
	if !isFunction {
		answer = s.node(cmd.Args[0], dot)
		for _, arg := range cmd.Args[1:] {
			s.node(arg, dot)
			answer = part{}
		}
		return answer
	}
	call := s.call(f, cmd.Args[1:], piped)
	args := make([]part, 0, len(cmd.Args)-1)
	for _, arg := range cmd.Args[1:] {
		args = append(args, s.node(arg, dot))
	}
	switch {
	case call != nil:
		s.last = value{call, ""}
		return part{call, nil}
	case f.Ident == "index" && len(args) > 0:
		return s.index(args[0], cmd.Args[2:])
	case len(args) > 0:
		s.last.converts(f.Ident)
	}
	return part{}
}

// index returns the part that the function index selects.
func (s *scanner) index(of part, keys []parse.Node) part {
	fields := make([]string, 0, len(keys))
	for _, n := range keys {
		key, ok := n.(*parse.StringNode)
		if !ok {
			return part{}
		}
		fields = append(fields, key.Text)
	}
	return s.selected(of, fields)
}

func (s *scanner) node(n parse.Node, dot part) part {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return s.selected(dot, n.Ident)
	case *parse.VariableNode:
		return s.selected(s.vars[n.Ident[0]], n.Ident[1:])
	case *parse.PipeNode:
		return s.pipe(n, dot)
	case *parse.ChainNode:
		return s.selected(s.node(n.Node, dot), n.Field)
	case *parse.IdentifierNode:
		return part{s.call(n, nil, false), nil}
	}
	return part{}
}

func (s *scanner) selected(from part, fields []string) part {
	if from.Call == nil || len(fields) == 0 {
		return from
	}
	from.fields = slices.Concat(from.fields, fields)
	s.last = from.takes(from.fields)
	return from
}

func (s *scanner) call(f *parse.IdentifierNode, args []parse.Node, piped bool) *Call {
	a, ok := asked[f.Ident]
	if !ok {
		return nil
	}
	c := &Call{
		Need: stub.Need{Kind: a.kind}, Function: f.Ident, Optional: a.optional,
		List: slices.Contains(lists, f.Ident),
		Line: 1 + strings.Count(s.text[:min(int(f.Position()), len(s.text))], "\n"),
	}
	if f.Ident == "nomadService" && len(args) == 3 { // count, key, name
		args = args[2:]
	}
	switch {
	case piped && len(args) == 0:
		c.Argument = "what is piped into it"
	case len(args) == 0:
		return nil // everything, for example nomadVarList without a prefix
	default:
		if text, ok := args[0].(*parse.StringNode); ok {
			c.Label = labelOf(a.kind, text.Text)
		} else {
			c.Argument = args[0].String()
		}
	}
	if f.Ident == "pkiCert" {
		c.Items = slices.Clone(certificates)
	}
	s.calls = append(s.calls, c)
	return c
}
