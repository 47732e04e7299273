package stub

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec"
)

// todoName is the name of the function for placeholders.
const todoName = "TODO"

// NodeBlock is the kind of placeholders in the node block. Their labels are
// names of references, such as "meta.rack".
const NodeBlock = "node"

// Todo is a placeholder: a value that is still to be filled in.
type Todo struct {
	Need

	Name string
	At   jobspec.Range

	block hcl.Range // header
}

// Filled returns the set of a run that starts tasks: without what has
// placeholders. Only values of variables and changes to jobs keep theirs. A run
// must reject those that it needs, see Todos.
func (s *Set) Filled() *Set {
	f := *s
	f.filled = true
	if len(s.Todos) == 0 {
		return &f
	}
	f.variables, f.keys, f.secrets = maps.Clone(s.variables), maps.Clone(s.keys), maps.Clone(s.secrets)
	f.HostVolumes = maps.Clone(s.HostVolumes)
	f.Node.Meta, f.Node.Attributes = maps.Clone(s.Node.Meta), maps.Clone(s.Node.Attributes)
	fields := map[string]*string{
		"node.unique.name": &f.Node.Name, "node.class": &f.Node.Class, "node.pool": &f.Node.Pool, "node.datacenter": &f.Node.Datacenter,
	}
	for _, t := range s.Todos {
		switch t.Kind {
		case NomadVariable:
			delete(f.variables, keyOf(t.Label))
		case ConsulKey:
			delete(f.keys, t.Label)
		case VaultSecret:
			delete(f.secrets, t.Label)
		case ServiceBlock:
			f.Services = slices.DeleteFunc(slices.Clone(f.Services), func(s Service) bool { return s.Placeholder && s.Name == t.Label })
		case VolumeBlock:
			delete(f.HostVolumes, t.Label)
		case ArtifactBlock:
			f.Artifacts = slices.DeleteFunc(slices.Clone(f.Artifacts), func(a Artifact) bool { return a.Label == t.Label })
		case NodeBlock:
			delete(f.Node.Meta, strings.TrimPrefix(t.Label, "meta."))
			delete(f.Node.Attributes, strings.TrimPrefix(t.Label, "attr."))
			if field := fields[t.Label]; field != nil {
				*field = ""
			}
		case "vault":
			f.VaultToken = localToken
		case "consul":
			f.ConsulToken = localToken
		}
	}
	return &f
}

// IsFilled reports whether the set is a result of Filled.
func (s *Set) IsFilled() bool { return s.filled }

// Unfilled returns the placeholders in the blocks for a need. A list needs all
// blocks whose labels start with that of the need.
func (s *Set) Unfilled(n Need, list bool) (found []Todo) {
	for _, t := range s.Todos {
		if t.Kind == n.Kind && t.fits(n.Label, list) {
			found = append(found, t)
		}
	}
	return found
}

func (t Todo) fits(label string, list bool) bool {
	switch t.Kind {
	case NomadVariable:
		own, asked := keyOf(t.Label), keyOf(label)
		return own == asked || list && (own.namespace == asked.namespace || asked.namespace == "*") && strings.HasPrefix(own.path, asked.path)
	case ConsulKey:
		label = strings.TrimPrefix(label, "/")
	case VaultSecret:
		if list {
			return len((&Set{secrets: map[string]map[string]any{t.Label: nil}}).SecretNames(label)) > 0
		}
		secret, ok := (&Set{secrets: map[string]map[string]any{t.Label: nil}}).Secret(label)
		return ok && secret.Path == t.Label
	}
	return t.Label == label || list && strings.HasPrefix(t.Label, label)
}

// todos finds the placeholders of a stubs file, in order.
func (p *parser) todos(body *hclsyntax.Body) {
	for _, b := range body.Blocks {
		need := Need{Kind: b.Type}
		if len(b.Labels) > 0 {
			need.Label = normalLabel(b.Type, b.Labels[0])
		}
		for call := range calls(b.Body) {
			t := Todo{Need: need, Name: b.Type, At: jobspec.RangeOf(call.Range()), block: b.DefRange()}
			if b.Type == NodeBlock {
				t.Label = nodeReference(b.Body, call)
			}
			if len(call.Args) > 0 {
				if name, diags := call.Args[0].Value(nil); !diags.HasErrors() && name.Type() == cty.String && name.IsWhollyKnown() && !name.IsNull() {
					t.Name = name.AsString()
				}
			}
			p.set.Todos = append(p.set.Todos, t)
		}
	}
}

// calls yields the calls of TODO in a node of the syntax.
func calls(node hclsyntax.Node) func(yield func(*hclsyntax.FunctionCallExpr) bool) {
	return func(yield func(*hclsyntax.FunctionCallExpr) bool) {
		on := true
		_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
			if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && on && call.Name == todoName {
				on = yield(call)
			}
			return nil
		})
	}
}

// todoIn returns the first placeholder in a range.
func (p *parser) todoIn(r hcl.Range) (Todo, bool) {
	i := slices.IndexFunc(p.set.Todos, func(t Todo) bool {
		return r.Start.Byte <= t.At.Start.Byte && t.At.End.Byte <= r.End.Byte
	})
	if i < 0 {
		return Todo{}, false
	}
	return p.set.Todos[i], true
}

// hasTodo reports whether there is a placeholder in a block.
func (p *parser) hasTodo(header hcl.Range) bool {
	return slices.ContainsFunc(p.set.Todos, func(t Todo) bool { return t.block.Start.Byte == header.Start.Byte })
}

// normalLabel returns the label of a block as Needs have it.
func normalLabel(kind, label string) string {
	switch kind {
	case NomadVariable:
		key := keyOf(label)
		return VariableLabel(key.path, key.namespace)
	case ConsulKey:
		return strings.TrimPrefix(label, "/")
	case VaultSecret:
		return strings.Trim(label, "/")
	}
	return label
}

// nodeReference returns the name of the reference to a value of the node block
// that has a placeholder.
func nodeReference(body *hclsyntax.Body, call *hclsyntax.FunctionCallExpr) string {
	within := func(n hclsyntax.Node) bool {
		r := n.Range()
		return r.Start.Byte <= call.Range().Start.Byte && call.Range().End.Byte <= r.End.Byte
	}
	prefixes := map[string]string{"meta": "meta.", "attributes": "attr."}
	for name, a := range body.Attributes {
		if !within(a.Expr) {
			continue
		}
		object, ok := a.Expr.(*hclsyntax.ObjectConsExpr)
		if prefixes[name] == "" || !ok {
			return "node." + strings.Replace(name, "name", "unique.name", 1)
		}
		for _, item := range object.Items {
			if key, diags := item.KeyExpr.Value(nil); within(item.ValueExpr) && !diags.HasErrors() && key.Type() == cty.String && key.IsKnown() && !key.IsNull() {
				return prefixes[name] + key.AsString()
			}
		}
	}
	for _, b := range body.Blocks {
		for name, a := range b.Body.Attributes {
			if within(a.Expr) {
				return prefixes[b.Type] + name
			}
		}
	}
	return ""
}
