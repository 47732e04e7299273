package drivers

import "context"

// Lasting is a driver whose tasks live on when the program that started them is
// killed, since they are no processes of it.
type Lasting interface {
	// OnUse has tell called once, before the first task starts, with a line by
	// which CleanUp finds all that this driver starts. It comes before any
	// other method but SetConfig.
	OnUse(tell func(ref string))

	// CleanUp removes what the driver of a program that is gone has left, by
	// the line that it told. When nothing is left it does nothing. It may be
	// called in any program, without any other method before it.
	CleanUp(ctx context.Context, ref string) error
}

// Leftover is something that a driver made for an allocation, in this program
// or in one that may be gone.
type Leftover struct {
	ID       string // the driver's own
	Name     string // for people
	AllocDir string // whose run is locked as long as somebody needs it
}

// Finder is a driver that finds whatever it has ever made and not removed, also
// what nobody cleaned up after, as when the machine lost its power.
type Finder interface {
	// Leftovers returns all there is, of runs that live too.
	Leftovers(ctx context.Context) ([]Leftover, error)
	// RemoveLeftover removes one. One that is gone is no error.
	RemoveLeftover(ctx context.Context, l Leftover) error
}
