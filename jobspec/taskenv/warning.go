package taskenv

import "fmt"

// WarningKind is what is wrong with a reference in an env or meta block.
type WarningKind int

const (
	// SiblingReference is one to another variable of the same block. Nomad
	// resolves it in some runs and not in others.
	SiblingReference WarningKind = iota
	// CyclicReference is one that leads back to the variable that holds it.
	CyclicReference
	// UnknownReference is one that nothing resolves. It stays as text, which
	// is right when it was escaped as $${name}.
	UnknownReference
)

// Warning is about a reference in the env or meta block of a task.
type Warning struct {
	Variable  string // that holds the reference, under its cleaned name
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
