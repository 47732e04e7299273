package process

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// start starts the process where it is to be. A new process begins in the
// cgroups of the thread that forks it, so with version 1 a thread of its own
// joins them, forks, and ends.
func (s *Spec) start() (pid int, err error) {
	if len(s.Tasks) == 0 {
		return s.fork()
	}
	forked := make(chan struct{})
	go func() {
		defer close(forked)
		runtime.LockOSThread() // for good: no other goroutine may come to be here
		if unix.Gettid() == os.Getpid() {
			pid, err = s.start() // the first thread cannot end
			runtime.UnlockOSThread()
			return
		}
		for _, tasks := range s.Tasks {
			if _, err = tasks.WriteString("0"); err != nil {
				err = fmt.Errorf("cannot join cgroup %q: %w", filepath.Dir(tasks.Name()), err)
				return
			}
		}
		pid, err = s.fork()
	}()
	<-forked
	return pid, err
}

func (s *Spec) sysProcAttr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true, Setctty: s.Terminal, Credential: s.Credential}
	if s.Cgroup != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(s.Cgroup.Fd())
	}
	return attr
}
