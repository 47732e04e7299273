package process

import "syscall"

func (s *Spec) sysProcAttr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true, Setctty: s.Terminal, Credential: s.Credential}
	if s.Cgroup != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(s.Cgroup.Fd())
	}
	return attr
}
