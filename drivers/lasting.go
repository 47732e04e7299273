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
