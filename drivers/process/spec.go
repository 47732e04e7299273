package process

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Spec describes a process to start. It gets its own session.
type Spec struct {
	Path   string     // of the program
	Name   string     // its argv[0]; empty for Path
	Args   []string   // the other arguments
	Env    []string   // "K=V", complete
	Dir    string     // working directory
	Stdin  *os.File   // nil: empty
	Stdout *os.File   // nil: discarded
	Stderr *os.File   // nil: discarded
	Files  []*os.File // inherited descriptors from 3 on

	// Terminal makes Stdin, which must be a terminal, the controlling terminal
	// of the session. Otherwise the session has none.
	Terminal bool

	// Credential is the user of the process; nil for the user of this program.
	Credential *syscall.Credential

	// OnExit is called when the process has ended, before its PID is released
	// and before Done is closed. It must return soon, and must not wait for
	// this package.
	OnExit func(Status, time.Time)

	// Kept makes the keeper, if there is one, remember how the process ended
	// for another instance of this program, until Release.
	Kept bool

	// Cgroup is an open cgroup v2 directory to start in; nil for that of this
	// program. Linux only.
	Cgroup *os.File

	// Tasks are the files "tasks" of cgroup v1 directories to start in, open
	// for writing. Linux only.
	Tasks []*os.File

	// Prepare, if set, is called with the PID before the first instruction of
	// the process. An error aborts the start. Linux only.
	Prepare func(pid int) error
	traced  bool // until Prepare has been called
}

// fork starts the process. Nothing else may delay it.
func (s *Spec) fork(sys *syscall.SysProcAttr) (int, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	var files []uintptr
	streams := []*os.File{cmp.Or(s.Stdin, null), cmp.Or(s.Stdout, null), cmp.Or(s.Stderr, null)}
	for _, f := range append(streams, s.Files...) {
		files = append(files, f.Fd())
	}
	argv := append([]string{cmp.Or(s.Name, s.Path)}, s.Args...)
	attr := &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Files: files, Sys: sys}
	pid, err := syscall.ForkExec(s.Path, argv, attr)
	for pause := time.Millisecond; errors.Is(err, syscall.ETXTBSY) && pause < 200*time.Millisecond; pause *= 2 {
		// ETXTBSY: the program was just written, and a child that another
		// goroutine is forking still has it open for writing until it execs.
		<-time.After(pause)
		pid, err = syscall.ForkExec(s.Path, argv, attr)
	}
	if err != nil {
		return 0, s.explain(err)
	}
	return pid, nil
}

// explain adds the meaning of the system's error to a failed start.
func (s *Spec) explain(err error) error {
	hint := ""
	switch {
	case s.Cgroup != nil:
		hint = fmt.Sprintf(" (in cgroup %q)", s.Cgroup.Name())
	case errors.Is(err, syscall.ENOEXEC):
		hint = " (a script must begin with #! and its interpreter)"
	case errors.Is(err, syscall.ENOENT) && exists(s.Path) && exists(s.Dir):
		hint = " (the interpreter or loader that it names does not exist)"
	case errors.Is(err, syscall.EPERM) && s.Credential != nil:
		hint = fmt.Sprintf(" (only root may start a process as user %d)", s.Credential.Uid)
	case errors.Is(err, syscall.EACCES) && s.Credential != nil:
		hint = fmt.Sprintf(" (user %d must be able to execute it, and to enter %q and every directory above)", s.Credential.Uid, s.Dir)
	}
	return fmt.Errorf("cannot start %q: %w%s", s.Path, err, hint)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
