package drivers

import "context"

// Lasting is a driver whose tasks outlive the program that started them,
// because they are not its processes.
type Lasting interface {
	// OnUse makes the driver call tell once, before the first task starts, with
	// a reference for CleanUp. It is called before any other method except
	// SetConfig.
	OnUse(tell func(ref string))

	// CleanUp removes everything that a driver in another program left behind,
	// given its reference. No other method has to be called before it.
	CleanUp(ctx context.Context, ref string) error
}

// Leftover is something that a driver made for an allocation, in this program or
// an earlier one.
type Leftover struct {
	ID       string // the driver's own
	Name     string // for people
	AllocDir string // the run that needs the leftover is locked
}

// Finder is a driver that finds everything it has made and not removed, even
// after a power failure.
type Finder interface {
	// Leftovers returns everything, including that of live runs.
	Leftovers(ctx context.Context) ([]Leftover, error)
	// RemoveLeftover removes a leftover. A missing one is no error.
	RemoveLeftover(ctx context.Context, l Leftover) error
}
