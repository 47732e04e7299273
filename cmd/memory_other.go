//go:build !linux

package cmd

// makeInMemory makes no folder: there is no place for it in memory.
func makeInMemory(string) string { return "" }
