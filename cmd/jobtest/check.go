package jobtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/evaluate"
)

// Check checks all references of the test file to its job before anything runs: the
// targets of blocks, and the names and attributes in conditions. The jobs are
// canonical, and include those of update orders: a name is valid if one of them has
// it.
func (f *File) Check(jobs ...*api.Job) jobspec.Diagnostics {
	var all hcl.Diagnostics
	for _, run := range f.Runs {
		c := &checker{run: run, names: NamesOf(jobs...)}
		for _, o := range run.Orders {
			if o.Verb == Scale && c.names.Group(o.Target) == nil {
				g := c.names.group(o.Target)
				g.count = max(g.count, o.Count)
			}
		}
		c.blocks()
		for _, a := range run.Asserts {
			c.assert(a)
		}
		all = append(all, c.diags...)
	}
	return jobspec.DiagnosticsOf(all, nil)
}

// checker checks one run.
type checker struct {
	run   *Run
	names *Names
	diags hcl.Diagnostics
}

// refuse reports a name that does not exist.
func (c *checker) refuse(at hcl.Range, err *NameError) bool {
	if err != nil {
		c.diags = append(c.diags, diagnostic.Error(at, err.Summary, err.Detail, err.Remedy))
	}
	return err != nil
}

func (c *checker) blocks() {
	for _, t := range c.run.Tasks {
		p, err := c.names.Several(t.Target)
		if err == nil && p.Task == "" {
			_, err = c.names.Task(t.Target)
		}
		c.refuse(t.label, err)
	}
	for _, k := range c.run.Checks {
		_, _, err := c.names.Check(k.Name)
		if err == nil && c.names.has(checksOf, c.names.groups, k.Name) != nil {
			err = &NameError{"a check block is for all allocations", "", "leave the allocation out"}
		}
		c.refuse(k.Block.Label, err)
	}
	for _, o := range c.run.Orders {
		c.order(o)
	}
	for _, e := range c.run.Execs {
		_, err := c.names.Task(e.Target)
		c.refuse(e.Block.Label, err)
	}
	for _, e := range c.run.ExpectFailures {
		if _, _, check := c.names.Check(e.Name); check != nil {
			_, err := c.names.Several(e.Name)
			if err != nil {
				err.Remedy = cmp.Or(err.Remedy, check.Remedy)
			}
			c.refuse(e.Range, err)
		}
	}
}

func (c *checker) order(o *Order) {
	switch o.Verb {
	case Stop, Restart, Signal:
		if c.names.Job(o.Target) != nil {
			_, err := c.names.Several(o.Target)
			if err != nil {
				err.Remedy = cmp.Or(err.Remedy, did(o.Target, c.names.jobs))
			}
			c.refuse(o.target, err)
		}
	case Scale:
		c.refuse(o.target, c.names.Group(o.Target))
	default: // the others have no target
	}
}

// assert checks an assertion: first its names, then its types. For the types it
// evaluates the assertion with unknown values.
func (c *checker) assert(a *Assert) {
	wrong := false
	for _, call := range a.calls {
		wrong = c.call(call) || wrong
	}
	if wrong || a.Condition == nil {
		return
	}
	scope := c.scope()
	loops := &loops{contexts: []*hcl.EvalContext{scope.Root()}}
	_ = hclsyntax.Walk(a.Condition, loops)
	Explain(loops.diags)
	c.diags = append(c.diags, loops.diags...)
	v, diags := c.unknown(a.Condition)
	c.diags = append(c.diags, diags...)
	if !diags.HasErrors() && (v.IsNull() || !isBool(v.Type())) {
		c.diags = append(c.diags, NotBool(a.Range, v))
	}
	if a.Message == nil {
		return
	}
	v, diags = c.unknown(a.Message)
	c.diags = append(c.diags, diags...)
	if !diags.HasErrors() && (v.IsNull() || v.Type() != cty.String && v.Type() != cty.DynamicPseudoType) {
		c.diags = append(c.diags, diagnostic.Error(a.Message.Range(), `"error_message" must be a string`, "it is "+describe(v), ""))
	}
}

// unknown evaluates an expression before there is an outcome.
func (c *checker) unknown(expr hcl.Expression) (cty.Value, hcl.Diagnostics) {
	scope := c.scope()
	v, diags := scope.Strict(expr, scope.Root())
	Explain(diags)
	return v, diags
}

// scope returns a scope in which everything has a type, and no value.
func (c *checker) scope() *evaluate.Scope {
	execs := map[string]cty.Value{}
	for _, e := range c.run.Execs {
		execs[e.Target] = cty.UnknownVal(ExecType)
	}
	return c.run.Scope(func(name string, _ []string) (cty.Value, error) {
		return cty.UnknownVal(lookups[name].result), nil
	}, Values{Run: cty.UnknownVal(RunType), Exec: cty.ObjectVal(execs), Diagnostics: cty.UnknownVal(cty.List(cty.String))})
}

// call checks the literal arguments of a call, and reports whether one of them is
// wrong.
func (c *checker) call(call call) (wrong bool) {
	for i, arg := range call.args {
		if arg.literal && c.refuse(arg.at, c.argument(call, i, arg.text)) {
			wrong = true
		}
	}
	return wrong
}

func (c *checker) argument(call call, i int, text string) (err *NameError) {
	n := c.names
	switch {
	case call.name == "event" && i == 1:
		if !slices.Contains(EventTypes, text) {
			err = unknown("event type", text, EventTypes)
		}
	case call.name == "template" && i == 1:
		if call.args[0].literal && !c.isWrong(call, 0) {
			_, _, err = n.Template(call.args[0].text, text)
		}
	case i > 0:
	case call.name == "task", call.name == "template":
		_, err = n.Task(text)
	case call.name == "allocs":
		err = n.Group(text)
	case call.name == "alloc":
		_, err = n.Alloc(text)
	case call.name == "event":
		if n.Job(text) != nil {
			_, err = n.Any(text)
		}
	case call.name == "service":
		err = n.Service(text)
	case call.name == "check":
		_, _, err = n.Check(text)
	case call.name == "port":
		_, _, err = n.Port(text)
	case call.name == "deployment":
		err = n.Job(text)
	case call.name == "file" && !isLocal(text):
		_, _, err = n.File(text)
	case call.name == "exec":
		err = c.has("exec block", text, c.execs())
	case call.name == "var":
		err = c.has("variable", text, slices.Sorted(maps.Keys(c.run.Variables)))
	}
	return err
}

func (c *checker) isWrong(call call, i int) bool {
	return c.argument(call, i, call.args[i].text) != nil
}

func (c *checker) has(what, name string, known []string) *NameError {
	if slices.Contains(known, name) {
		return nil
	}
	err := unknown(what, name, known)
	if err.Detail == "" && err.Remedy == "" {
		err.Detail = fmt.Sprintf("this run has no %s", what)
	}
	return err
}

func (c *checker) execs() (names []string) {
	for _, e := range c.run.Execs {
		names = append(names, e.Target)
	}
	return names
}
