//go:build !linux

package process

import "syscall"

func (s *Spec) sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: s.Terminal, Credential: s.Credential}
}

// start starts the process.
func (s *Spec) start() (int, error) { return s.fork() }
