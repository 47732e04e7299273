package drivers

// MemoryEnforcer is a driver that can hold tasks to their memory limits. Until
// it is told to they are only measured.
type MemoryEnforcer interface {
	// EnforceMemory has the system kill a task, from its start on, that needs
	// more memory than Resources.MemoryLimitBytes. It is called at most once,
	// before any task is started. The error says what is missing for that on
	// this machine.
	EnforceMemory() error

	// EnforcesMemory reports whether limits are enforced.
	EnforcesMemory() bool
}
