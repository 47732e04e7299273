package process

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Spec is a process to start. It gets a session of its own.
type Spec struct {
	Path   string     // of the program
	Name   string     // its argv[0]; empty for Path
	Args   []string   // the rest of argv
	Env    []string   // "K=V", all of it
	Dir    string     // where it starts
	Stdin  *os.File   // nil: nothing to read
	Stdout *os.File   // nil: nowhere
	Stderr *os.File   // nil: nowhere
	Files  []*os.File // descriptors from 3 on

	// Terminal makes Stdin, which must be one, the controlling terminal of the
	// session. Without it the session has none.
	Terminal bool

	// Credential is the user it runs as, nil for that of this program.
	Credential *syscall.Credential

	// OnExit is called when the process has ended, before its number is free
	// for others and before Done is closed. It must return soon, and must not
	// wait for anything of this package.
	OnExit func(Status, time.Time)

	// Kept: under a keeper, how the process ended stays known to another
	// instance of this program until Release.
	Kept bool

	// Cgroup is an open directory of the cgroup v2 hierarchy to start in, nil
	// for that of this program. Linux only.
	Cgroup *os.File

	// Tasks are files "tasks", open for writing, of cgroups of version 1 to
	// start in. Linux only.
	Tasks []*os.File

	// Prepare, if set, is called with the number of the process before its
	// first instruction. An error keeps it from starting. Linux only.
	Prepare func(pid int) error
	traced  bool // until Prepare was called
}

// fork starts the process. No other thing may delay it.
func (s *Spec) fork(sys *syscall.SysProcAttr) (int, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	files := []uintptr{null.Fd(), null.Fd(), null.Fd()}
	if s.Stdin != nil {
		files[0] = s.Stdin.Fd()
	}
	if s.Stdout != nil {
		files[1] = s.Stdout.Fd()
	}
	if s.Stderr != nil {
		files[2] = s.Stderr.Fd()
	}
	for _, f := range s.Files {
		files = append(files, f.Fd())
	}
	argv := append([]string{cmp.Or(s.Name, s.Path)}, s.Args...)
	attr := &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Files: files, Sys: sys}
	pid, err := syscall.ForkExec(s.Path, argv, attr)
	for pause := time.Millisecond; errors.Is(err, syscall.ETXTBSY) && pause < 200*time.Millisecond; pause *= 2 {
		// The program was just written, and a child that another goroutine
		// forks at this moment still has it open for writing, until it execs.
		<-time.After(pause)
		pid, err = syscall.ForkExec(s.Path, argv, attr)
	}
	if err != nil {
		return 0, s.explain(err)
	}
	return pid, nil
}

// explain says what the system's words for a failed start mean.
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
