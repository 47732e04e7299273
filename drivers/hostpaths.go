package drivers

// HostPathUser is a driver whose tasks may ask for paths of this machine.
type HostPathUser interface {
	// HostPaths returns the paths that a config block asks for, as they are
	// written there.
	HostPaths(config map[string]any) []HostPath

	// SetHostPaths has find say what a task gets for a path of this machine;
	// "" is nothing at all. Without it tasks get the path itself. It comes
	// before any task starts.
	SetHostPaths(find func(path string) (string, error))
}

// HostPath is a path of this machine in a config block.
type HostPath struct {
	Option string // that has it
	Path   string
}
