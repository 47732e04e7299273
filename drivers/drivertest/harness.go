package drivertest

import "taskrun/drivers"

// Harness describes a driver to the suite.
type Harness struct {
	// New returns a driver without tasks. Run shuts it down.
	New func() drivers.Driver

	// Script returns the config block, in HCL, of a task.
	Script func(Script) string

	// CodeError returns the text of the driver's error for an exit code other
	// than 0; nil: there is none.
	CodeError func(code int) string

	// Many is how many tasks run at once; 0 means 50.
	Many int

	// Command returns a command to run in a task; nil: commands are not tested.
	Command func(Command) []string

	// Size is a command that writes the height and width of its terminal for
	// every line that it reads; nil for a driver without real terminals.
	Size []string

	// LateSize says that even the first line may not know the size yet, because
	// the engine sets it while the command runs.
	LateSize bool

	// Captured returns the output of Capture for a driver that executes nothing
	// for it; nil for all others.
	Captured func(argv []string) string
}

// Script describes a task of the suite: it writes its output, and exits unless
// Forever is set.
type Script struct {
	Stdout, Stderr string
	ExitCode       int
	Forever        bool // it runs until it is stopped
	Stubborn       bool // SIGINT does not end it

	Command *Command // will be run in the task; nil: none
}

// Command describes a command that is run in a task.
type Command struct {
	Stdout, Stderr string
	ExitCode       int
	Forever        bool // it writes its output, and runs until it is killed
	Echo           bool // it writes "TTY: true" or "TTY: false", and all its input when that has ended
}
