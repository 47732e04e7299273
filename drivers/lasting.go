package drivers

import "context"

// Lasting is a driver whose tasks outlive the program that started them, since
// they are not its processes.
type Lasting interface {
	// OnUse has the driver call tell once, before the first task starts, with a
	// line for CleanUp. It is called before any other method but SetConfig.
	OnUse(tell func(ref string))

	// CleanUp removes everything that a driver in another program left behind, by
	// its line. It may be called without any other method before it.
	CleanUp(ctx context.Context, ref string) error
}

// Leftover is something that a driver made for an allocation, in this program or
// an earlier one.
type Leftover struct {
	ID       string // the driver's own
	Name     string // for people
	AllocDir string // its run is locked while the run needs it
}

// Finder is a driver that finds everything it has made and not removed, even
// after a power failure.
type Finder interface {
	// Leftovers returns everything, including that of live runs.
	Leftovers(ctx context.Context) ([]Leftover, error)
	// RemoveLeftover removes a leftover. A missing one is no error.
	RemoveLeftover(ctx context.Context, l Leftover) error
}
