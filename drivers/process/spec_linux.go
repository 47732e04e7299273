package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// start starts the process in its cgroups. A new process starts in the cgroups
// of the thread that forks it, so for version 1 a dedicated thread joins them,
// forks, and ends.
func (s *Spec) start() (pid int, err error) {
	if len(s.Tasks) == 0 {
		return s.forkPrepared()
	}
	forked := make(chan struct{})
	go func() {
		defer close(forked)
		runtime.LockOSThread() // never unlocked: no other goroutine may run on this thread
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
		pid, err = s.forkPrepared()
	}()
	<-forked
	return pid, err
}

// forkPrepared forks, and calls Prepare while the process, which is traced,
// waits at its first instruction. If tracing is not allowed, it calls Prepare
// right after the start.
func (s *Spec) forkPrepared() (pid int, err error) {
	if s.Prepare == nil {
		return s.fork(s.sysProcAttr())
	}
	runtime.LockOSThread() // only the thread that forks can trace
	defer runtime.UnlockOSThread()
	s.traced = true
	pid, err = s.fork(s.sysProcAttr())
	if err != nil {
		s.traced = false
		pid, err = s.fork(s.sysProcAttr())
	}
	if err != nil {
		return 0, err
	}
	if s.traced {
		// WNOWAIT leaves the end of the process to the reaper.
		for {
			err = unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
	}
	if err == nil {
		err = s.Prepare(pid)
	}
	if err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		return 0, err
	}
	if s.traced {
		_ = unix.PtraceDetach(pid) // fails only if the process was killed
	}
	return pid, nil
}

func (s *Spec) sysProcAttr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true, Setctty: s.Terminal, Credential: s.Credential, Ptrace: s.traced}
	if s.Cgroup != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(s.Cgroup.Fd())
	}
	return attr
}
