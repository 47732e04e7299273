package drivers

// MemoryEnforcer is a driver that can enforce the memory limits of tasks. By
// default it may only measure them.
type MemoryEnforcer interface {
	// EnforceMemory makes the system kill a task that exceeds
	// Resources.MemoryLimitBytes. It is called at most once, before any task
	// starts. The error says what this machine lacks.
	EnforceMemory() error

	// EnforcesMemory reports whether limits are enforced.
	EnforcesMemory() bool
}
