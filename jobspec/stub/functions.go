package stub

import (
	"fmt"
	"os"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	jobfunction "taskrun/jobspec/function"
)

// functions returns the functions of the stubs file: those of job files, and two
// of its own. Placeholders need the native syntax, in which they
// have a position.
func (p *parser) functions(isNative bool) map[string]function.Function {
	table := jobfunction.TableNoting(p.dir, func(path string) { p.set.Reads = append(p.set.Reads, path) })
	table["env"] = envFunc
	if isNative {
		table[todoName] = todoFunc
	}
	return table
}

// envFunc is env("NAME"), the value of an environment variable.
var envFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "name", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		name := args[0].AsString()
		value, ok := os.LookupEnv(name)
		if !ok {
			return cty.NilVal, function.NewArgErrorf(0, "the environment variable %q is not set", name)
		}
		return cty.StringVal(value), nil
	},
})

// todoFunc is TODO("name"), a placeholder. A second argument is its value in a
// rehearsal, and has the type of the value to fill in.
var todoFunc = function.New(&function.Spec{
	Params:   []function.Parameter{{Name: "name", Type: cty.String}},
	VarParam: &function.Parameter{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		switch len(args) {
		case 1:
			return cty.String, nil
		case 2:
			return args[1].Type(), nil
		}
		return cty.NilType, fmt.Errorf("write TODO(name) or TODO(name, value)")
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if len(args) == 2 {
			return args[1], nil
		}
		return cty.StringVal(PlaceholderText(args[0].AsString())), nil
	},
})

// PlaceholderPrefix is how the text of a placeholder begins.
const PlaceholderPrefix = "TODO-"

// PlaceholderText returns the text of a placeholder in a rehearsal. It can be
// part of the name of an image, of a path and of a URL.
func PlaceholderText(name string) string {
	return PlaceholderPrefix + strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '.', r == '-':
			return r
		}
		return '-'
	}, name)
}
