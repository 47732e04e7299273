//go:build !linux

package dockertest

import "syscall"

// apart and unmount are of no use where CanStart refuses.
func apart() *syscall.SysProcAttr { return nil }

func unmount(string) error { return nil }
