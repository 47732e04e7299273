package taskenv

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"taskrun/jobspec/evaluate"
)

// functions are the functions that a config may call when the task starts.
var functions = map[string]function.Function{
	"abs":        stdlib.AbsoluteFunc,
	"coalesce":   stdlib.CoalesceFunc,
	"concat":     stdlib.ConcatFunc,
	"hasindex":   stdlib.HasIndexFunc,
	"int":        stdlib.IntFunc,
	"jsondecode": stdlib.JSONDecodeFunc,
	"jsonencode": stdlib.JSONEncodeFunc,
	"length":     stdlib.LengthFunc,
	"lower":      stdlib.LowerFunc,
	"max":        stdlib.MaxFunc,
	"min":        stdlib.MinFunc,
	"reverse":    stdlib.ReverseFunc,
	"strlen":     stdlib.StrlenFunc,
	"substr":     stdlib.SubstrFunc,
	"upper":      stdlib.UpperFunc,
}

// names are the names that an evaluation needs. In both sets, "" means all.
type names struct {
	roots map[string]bool // first steps of names
	attrs map[string]bool // first steps below attr and node.attr
}

var allNames = names{roots: map[string]bool{"": true}, attrs: map[string]bool{"": true}}

func (n names) root(name string) bool { return n.roots[name] || n.roots[""] }

// usedNames returns the first parts of references.
func usedNames(references []hcl.Traversal) names {
	n := names{roots: map[string]bool{}, attrs: map[string]bool{}}
	for _, t := range references {
		root := t.RootName()
		n.roots[root] = true
		first, _ := evaluate.StepName(t, 1)
		switch {
		case root == "attr":
			n.attrs[first] = true
		case root == "node" && first == "attr":
			second, _ := evaluate.StepName(t, 2)
			n.attrs[second] = true
		case root == "node" && first == "":
			n.attrs[""] = true
		}
	}
	return n
}

// evalContext returns the functions of a config, and the variables that it
// needs.
func (e *Env) evalContext(need names) *hcl.EvalContext {
	top := tree{}
	for name, value := range e.vars {
		if need.root(firstStep(name)) {
			top.put(name, value)
		}
	}
	for name, value := range e.secrets {
		if need.root(firstStep(name)) {
			top.put(name, value)
		}
	}
	if len(need.attrs) > 0 {
		attrs := top.below("attr")
		for step := range need.attrs {
			for name, value := range e.node.attributesBelow(step) {
				attrs.put(name, value)
			}
		}
	}
	if need.root("meta") || need.root("node") {
		meta := top.below("meta")
		for name, value := range e.node.meta() {
			meta.put(name, value)
		}
	}
	if need.root("node") {
		node := top.below("node")
		for name, field := range nodeFields {
			node.put(name, field(e.node))
		}
		node["attr"], node["meta"] = top.below("attr"), top.below("meta")
	}
	vars := top.values()
	if need.root("env") {
		vars["env"] = stringMap(e.vars)
	}
	return &hcl.EvalContext{Variables: vars, Functions: functions}
}

func stringMap(m map[string]string) cty.Value {
	if len(m) == 0 {
		return cty.MapValEmpty(cty.String)
	}
	values := make(map[string]cty.Value, len(m))
	for name, value := range m {
		values[name] = cty.StringVal(value)
	}
	return cty.MapVal(values)
}

// tree holds values by dotted names: strings, and subtrees.
type tree map[string]any

// put stores a value. If a name has both a value and longer names, only the
// longer ones count. Names with an empty step are omitted, because no reference
// can contain them.
func (t tree) put(name, value string) {
	if name == "" || name[0] == '.' || strings.HasSuffix(name, ".") || strings.Contains(name, "..") {
		return
	}
	for {
		step, rest, more := strings.Cut(name, ".")
		if !more {
			break
		}
		t, name = t.below(step), rest
	}
	if _, leads := t[name].(tree); !leads {
		t[name] = value
	}
}

// below returns the subtree at a step, and creates it if necessary.
func (t tree) below(step string) tree {
	next, ok := t[step].(tree)
	if !ok {
		next = tree{}
		t[step] = next
	}
	return next
}

func (t tree) values() map[string]cty.Value {
	values := make(map[string]cty.Value, len(t))
	for name, value := range t {
		switch value := value.(type) {
		case string:
			values[name] = cty.StringVal(value)
		case tree:
			values[name] = cty.ObjectVal(value.values())
		}
	}
	return values
}
