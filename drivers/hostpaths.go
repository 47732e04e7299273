package drivers

// HostPathUser is a driver whose tasks may mount paths of this machine.
type HostPathUser interface {
	// HostPaths returns the paths of this machine in a config block, as they are
	// written.
	HostPaths(config map[string]any) []HostPath

	// SetHostPaths sets the function that returns what to mount for a path; "" is
	// nothing. By default tasks get the path itself. It is called before any task
	// starts.
	SetHostPaths(find func(path string) (string, error))
}

// HostPath is a path of this machine in a config block.
type HostPath struct {
	Option string // where it is written
	Path   string
}
