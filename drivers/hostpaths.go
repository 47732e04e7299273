package drivers

// HostPathUser is a driver whose tasks may mount paths of the host.
type HostPathUser interface {
	// HostPaths returns the host paths in a config block, as written there.
	HostPaths(config map[string]any) []HostPath

	// SetHostPaths sets the function that returns what to mount for a path; ""
	// means nothing. By default tasks get the path itself. It is called before
	// any task starts.
	SetHostPaths(find func(path string) (string, error))
}

// HostPath is a host path in a config block.
type HostPath struct {
	Option string // name of the option
	Path   string
}
