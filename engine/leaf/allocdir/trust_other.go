//go:build !linux

package allocdir

func isUnmapped(int) bool { return false }
