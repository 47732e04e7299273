package taskenv

import "fmt"

// WarningKind is the kind of problem with a reference in an env or meta block.
type WarningKind int

const (
	// SiblingReference is a reference to another variable of the same block.
	// Nomad resolves it in some runs only.
	SiblingReference WarningKind = iota
	// CyclicReference is a reference that leads back to its own variable.
	CyclicReference
	// UnknownReference is a reference that nothing resolves. It remains text,
	// which is correct if it was escaped as $${name}.
	UnknownReference
)

// Warning is about a reference in the env or meta block of a task.
type Warning struct {
	Variable  string // contains the reference; cleaned name
	Reference string // without ${ and }
	Kind      WarningKind
}

// String returns the warning as a sentence without a full stop.
func (w Warning) String() string {
	switch w.Kind {
	case SiblingReference:
		return fmt.Sprintf("%s refers to %s of the same block, which Nomad resolves only by chance", w.Variable, w.Reference)
	case CyclicReference:
		return fmt.Sprintf("%s and %s refer to each other, so ${%s} stays as text", w.Variable, w.Reference, w.Reference)
	default:
		return fmt.Sprintf("%s refers to %s, which is not known, so ${%s} stays as text", w.Variable, w.Reference, w.Reference)
	}
}
