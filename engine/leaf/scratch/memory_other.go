//go:build !linux

package scratch

// InMemory makes no folder, and returns "": there is no place for it in memory.
func InMemory(string) string { return "" }
