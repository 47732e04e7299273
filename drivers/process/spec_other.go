//go:build !linux

package process

import "syscall"

func (s *Spec) sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: s.Terminal, Credential: s.Credential}
}
