package stub

import (
	"slices"
	"strings"
	"text/template/parse"
)

// Call is a call in a template of a function whose result a stub provides.
type Call struct {
	Need
	Function string
	// Argument is the source of a computed argument; Label is empty then.
	Argument string
	Line     int // in the text, from 1
	// Items are the keys that the template uses from the result.
	Items []string
	// Samples are values that the template can use, by key, where it converts the
	// text; "" is the key of the result itself.
	Samples map[string]string
	// List is true if the template requests all names that start with Label.
	List bool
	// Optional is true if the template works without a result.
	Optional bool
}

// samples has a value for each function that converts a text.
var samples = map[string]string{
	"parseInt": "1", "parseUint": "1", "parseFloat": "1", "parseBool": "false", "parseJSON": "{}", "parseYAML": "{}",
	"base64Decode": "VE9ETw==", "base64URLDecode": "VE9ETw==", "timestamp": "0",
	"sprig_atoi": "1", "sprig_int": "1", "sprig_b64dec": "VE9ETw==", "sprig_fromJson": "{}",
}

// lists are the functions that request names.
var lists = []string{"nomadVarList", "nomadVarListSafe", "ls", "tree", "safeLs", "safeTree", "secrets"}

// certificates are the keys that the function pkiCert uses.
var certificates = []string{"certificate", "private_key", "issuing_ca"}

// asked lists the functions whose results stubs provide.
var asked = map[string]struct {
	kind     string
	optional bool
}{
	"nomadVar": {NomadVariable, false}, "nomadVarExists": {NomadVariable, true},
	"nomadVarList": {NomadVariable, true}, "nomadVarListSafe": {NomadVariable, false},
	"key": {ConsulKey, false}, "keyExists": {ConsulKey, true}, "keyOrDefault": {ConsulKey, true},
	"ls": {ConsulKey, true}, "tree": {ConsulKey, true}, "safeLs": {ConsulKey, false}, "safeTree": {ConsulKey, false},
	"secret": {VaultSecret, false}, "pkiCert": {VaultSecret, false}, "secrets": {VaultSecret, true},
	"service": {ServiceBlock, true}, "nomadService": {ServiceBlock, true},
}

// Calls finds the calls in the text of a template with the given delimiters. It
// returns none if the text cannot be parsed, which preflight reports.
func Calls(text, left, right string) []Call {
	tree := parse.New("template")
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, left, right, trees); err != nil {
		return nil
	}
	s := &scanner{text: text}
	for _, t := range trees {
		s.list(t.Root, nil)
	}
	if trees["template"] == nil && tree.Root != nil {
		s.list(tree.Root, nil)
	}
	slices.SortStableFunc(s.calls, func(a, b *Call) int { return a.Line - b.Line })
	found := make([]Call, len(s.calls))
	for i, c := range s.calls {
		found[i] = *c
	}
	return found
}

// scanner walks through a template. If the value of the dot is the result of a
// call, it tracks that call.
type scanner struct {
	text  string
	calls []*Call
	last  value // of the latest command
}

// value is a text that a template uses: the result of a call, or a key of it.
type value struct {
	*Call

	key string
}

// converts notes that a function converts the value.
func (v value) converts(function string) {
	sample, ok := samples[function]
	if v.Call == nil || !ok || v.Samples[v.key] != "" {
		return
	}
	if v.Samples == nil {
		v.Samples = map[string]string{}
	}
	v.Samples[v.key] = sample
}

func (s *scanner) list(list *parse.ListNode, dot *Call) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			s.pipe(n.Pipe, dot)
		case *parse.IfNode:
			s.pipe(n.Pipe, dot)
			s.list(n.List, dot)
			s.list(n.ElseList, dot)
		case *parse.WithNode:
			s.list(n.List, s.pipe(n.Pipe, dot))
			s.list(n.ElseList, dot)
		case *parse.RangeNode:
			s.pipe(n.Pipe, dot)
			s.list(n.List, nil)
			s.list(n.ElseList, dot)
		case *parse.TemplateNode:
			if n.Pipe != nil {
				s.pipe(n.Pipe, dot)
			}
		}
	}
}

// pipe returns the call whose result a pipe has.
func (s *scanner) pipe(p *parse.PipeNode, dot *Call) (answer *Call) {
	for i, cmd := range p.Cmds {
		if f, ok := cmd.Args[0].(*parse.IdentifierNode); ok && i > 0 {
			s.last.converts(f.Ident)
		}
		answer = s.command(cmd, dot, i > 0)
	}
	return answer
}

func (s *scanner) command(cmd *parse.CommandNode, dot *Call, piped bool) (answer *Call) {
	s.last = value{}
	defer func() {
		if f, ok := cmd.Args[0].(*parse.IdentifierNode); ok && len(cmd.Args) > 1 {
			s.last.converts(f.Ident)
		}
	}()
	for i, arg := range cmd.Args {
		switch arg := arg.(type) {
		case *parse.IdentifierNode:
			if i == 0 {
				answer = s.call(arg, cmd.Args[1:], piped)
			} else {
				s.call(arg, nil, false)
			}
		case *parse.PipeNode:
			if inner := s.pipe(arg, dot); i == 0 {
				answer = inner
			}
		case *parse.ChainNode:
			if inner, ok := arg.Node.(*parse.PipeNode); ok {
				s.last = s.pipe(inner, dot).takes(arg.Field)
			}
		case *parse.FieldNode:
			s.last = dot.takes(arg.Ident)
		}
	}
	if len(cmd.Args) > 1 {
		if _, isCall := cmd.Args[0].(*parse.IdentifierNode); !isCall {
			answer = nil
		}
	}
	return answer
}

// call records a call of one of the functions.
func (s *scanner) call(f *parse.IdentifierNode, args []parse.Node, piped bool) *Call {
	a, ok := asked[f.Ident]
	if !ok {
		return nil
	}
	c := &Call{
		Need: Need{Kind: a.kind}, Function: f.Ident, Optional: a.optional,
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
	s.last = value{c, ""}
	return c
}

// takes records the key that a template uses from the result.
func (c *Call) takes(fields []string) value {
	if c == nil || len(fields) == 0 {
		return value{}
	}
	switch c.Kind {
	case NomadVariable:
		switch fields[0] {
		case "Keys", "Values", "Tuples", "ItemsMap", "Metadata", "Parent":
			return value{}
		}
	case VaultSecret:
		if fields[0] != "Data" {
			return value{}
		}
		fields = fields[1:]
		if len(fields) > 1 && fields[0] == "data" {
			fields = fields[1:]
			if mount, rest, ok := strings.Cut(c.Label, "/"); ok && !isKV2(c.Label) {
				c.Label = mount + "/data/" + rest // like Vault's clients
			}
		}
	default:
		return value{}
	}
	if len(fields) == 0 || fields[0] == "metadata" {
		return value{}
	}
	if !slices.Contains(c.Items, fields[0]) {
		c.Items = append(c.Items, fields[0])
	}
	return value{c, fields[0]}
}

// labelOf returns the label of the block for an argument.
func labelOf(kind, argument string) string {
	argument = strings.TrimSpace(argument)
	switch kind {
	case ConsulKey:
		argument, _, _ = strings.Cut(argument, "@")
		argument, _, _ = strings.Cut(argument, "?")
		return strings.TrimPrefix(argument, "/")
	case VaultSecret:
		argument, _, _ = strings.Cut(argument, "?")
		return strings.Trim(argument, "/")
	case ServiceBlock:
		argument, _, _ = strings.Cut(argument, "@")
		argument, _, _ = strings.Cut(argument, "|")
		return argument[strings.LastIndexByte(argument, '.')+1:]
	}
	path, namespace, _ := strings.Cut(argument, "@")
	namespace, _, _ = strings.Cut(namespace, ".")
	return VariableLabel(strings.Trim(path, "/"), namespace)
}
