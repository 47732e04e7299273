package decode

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/evaluate"
)

// A mismatch explains why a value cannot be stored.
type mismatch struct {
	wanted string    // in words: "a whole number"
	value  cty.Value // the actual value
	reason string    // if the type alone does not explain it; may be empty
	remedy string    // may be empty

	// keys is the way to value inside of a list or a map: numbers and strings,
	// outermost first.
	keys []cty.Value
}

// below returns the mismatch as that of the collection in which it occurs under
// key.
func (m *mismatch) below(key cty.Value) *mismatch {
	m.keys = append([]cty.Value{key}, m.keys...)
	return m
}

// diagnose returns the error that the attribute named name cannot have the
// value of expr. It refers to the wrong element if expr is a literal list or
// object.
func (m *mismatch) diagnose(name string, expr hclsyntax.Expression) *hcl.Diagnostic {
	at, subject := expr.Range(), strconv.Quote(name)
	for _, key := range m.keys {
		if key.Type() == cty.String {
			subject = strconv.Quote(key.AsString())
		} else {
			i, _ := key.AsBigFloat().Int64()
			subject += fmt.Sprintf("[%d]", i)
		}
		if expr = part(expr, key); expr != nil {
			at = expr.Range()
		}
	}
	return diagnostic.Error(at, fmt.Sprintf("%s must be %s", subject, m.wanted), m.detail(), m.whatToDo())
}

// part returns the expression of one element of a literal list or object.
func part(expr hclsyntax.Expression, key cty.Value) hclsyntax.Expression {
	switch expr := expr.(type) {
	case *hclsyntax.TupleConsExpr:
		if i, _ := key.AsBigFloat().Int64(); int(i) < len(expr.Exprs) {
			return expr.Exprs[i]
		}
	case *hclsyntax.ObjectConsExpr:
		for _, item := range expr.Items {
			if name, ok := evaluate.Literal(item.KeyExpr); ok && name == key.AsString() {
				return item.ValueExpr
			}
		}
	}
	return nil
}

func (m *mismatch) detail() string {
	switch {
	case m.isReference():
		return m.value.AsString() + " is known only when the task runs; this must be known before"
	case m.reason != "":
		return fmt.Sprintf("it is %s; %s", diagnostic.Describe(m.value), m.reason)
	default:
		return fmt.Sprintf("it is %s", diagnostic.Describe(m.value))
	}
}

func (m *mismatch) whatToDo() string {
	if m.wanted == "a duration" && m.value.IsNull() {
		return `write one, such as "30s", or leave the attribute out`
	}
	if m.isReference() || m.value.IsNull() || m.value.Type() != cty.String {
		return ""
	}
	text := m.value.AsString()
	switch m.wanted {
	case "a list of strings":
		return "write [" + strconv.Quote(text) + "]"
	case "a whole number":
		if number := strings.TrimRight(text, " BbKkMmGgIiHhZz"); number != text && isNumber(number) {
			return "write " + number + ", without a unit"
		}
	case "true or false":
		switch strings.ToLower(text) {
		case "yes", "on":
			return "write true"
		case "no", "off":
			return "write false"
		}
	}
	return m.remedy
}

// isReference reports whether the value is a reference that is resolved at run
// time.
func (m *mismatch) isReference() bool {
	if m.value.IsNull() || m.value.Type() != cty.String {
		return false
	}
	text := m.value.AsString()
	return strings.HasPrefix(text, "${") && strings.HasSuffix(text, "}")
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}
