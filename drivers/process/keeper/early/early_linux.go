package early

import (
	"syscall"
	"unsafe"
)

func init() {
	if role, _ := syscall.Getenv(RoleVar); role == WatchRole {
		wait()
	}
}

// wait ignores signals, closes all other inherited descriptors, and returns once
// the last writer has closed the pipe. The keeper repeats the steps that fail here.
// execve(2) has closed the descriptors that the parent program opened itself.
func wait() {
	for _, sig := range []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
		syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM,
	} {
		ignore(sig)
	}
	name := [...]byte{'t', 'a', 's', 'k', 'r', 'u', 'n', 0}
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_NAME, uintptr(unsafe.Pointer(&name)), 0)
	if _, _, errno := syscall.RawSyscall(sysCloseRange, LockFD+1, 1<<32-1, 0); errno != 0 {
		return
	}
	for b := make([]byte, 1); ; {
		if _, err := syscall.Read(PipeFD, b); err != syscall.EINTR {
			return
		}
	}
}

// sysCloseRange is the number of close_range(2) on amd64 and arm64, which
// package syscall lacks.
const sysCloseRange = 436

// ignore makes the kernel ignore a signal. Children would inherit that, but a
// keeper starts none.
func ignore(sig syscall.Signal) {
	const ignored = 1 // SIG_IGN
	action := struct {
		handler uintptr
		rest    [3]uint64 // flags, the restorer, and the mask
	}{handler: ignored}
	const maskSize = 8
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, maskSize, 0, 0)
}
