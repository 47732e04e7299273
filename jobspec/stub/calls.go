package stub

import (
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/hashicorp/nomad/api"
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
	// KV2 is true if the template takes the result for a secret of a KV engine
	// version 2.
	KV2 bool
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

// labelOf returns the label of the block for an argument, and the namespace of a
// Nomad variable only if it is written: that of the job can be another one than
// the default.
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
	path = strings.Trim(path, "/")
	if namespace, _, _ = strings.Cut(namespace, "."); namespace != "" {
		path += "@" + namespace
	}
	return path
}
