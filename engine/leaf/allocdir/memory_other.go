//go:build !linux

package allocdir

// MakeInMemory makes no folder, and returns "": there is no place for it in memory.
func MakeInMemory(string) string { return "" }
