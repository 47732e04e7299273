package evaluate

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// A Reference is an occurrence of a name that has no value yet.
type Reference struct {
	Root  string // first part of the name: "attr" of "attr.kernel.name"
	Text  string // its value: "${attr.kernel.name}"
	Bare  bool   // it is written without ${ and }
	Range hcl.Range
}

// A HiddenCall is a call of a function that does not exist, within another call that
// hides the error: can or try.
type HiddenCall struct {
	Name  string
	By    string    // name of the other function
	Range hcl.Range // of the name
}

// StepName returns the i-th step of a reference, as in var.name and var["name"], if
// it has one that is a name.
func StepName(traversal hcl.Traversal, i int) (string, bool) {
	if i >= len(traversal) {
		return "", false
	}
	switch step := traversal[i].(type) {
	case hcl.TraverseAttr:
		return step.Name, true
	case hcl.TraverseIndex:
		return stringOf(step.Key)
	}
	return "", false
}

// stringOf returns the text of a known, non-null string.
func stringOf(v cty.Value) (string, bool) {
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}
