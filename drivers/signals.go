package drivers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
)

// signals maps the names in job files, in upper case; see
// https://developer.hashicorp.com/nomad/docs/job-specification/task#kill_signal.
var signals = map[string]syscall.Signal{
	"SIGNULL": 0,
	"SIGABRT": syscall.SIGABRT, "SIGALRM": syscall.SIGALRM, "SIGBUS": syscall.SIGBUS,
	"SIGCONT": syscall.SIGCONT, "SIGFPE": syscall.SIGFPE, "SIGHUP": syscall.SIGHUP,
	"SIGILL": syscall.SIGILL, "SIGINT": syscall.SIGINT, "SIGIO": syscall.SIGIO,
	"SIGIOT": syscall.SIGIOT, "SIGKILL": syscall.SIGKILL, "SIGPIPE": syscall.SIGPIPE,
	"SIGPROF": syscall.SIGPROF, "SIGQUIT": syscall.SIGQUIT, "SIGSEGV": syscall.SIGSEGV,
	"SIGSTOP": syscall.SIGSTOP, "SIGSYS": syscall.SIGSYS, "SIGTERM": syscall.SIGTERM,
	"SIGTRAP": syscall.SIGTRAP, "SIGTSTP": syscall.SIGTSTP, "SIGTTIN": syscall.SIGTTIN,
	"SIGTTOU": syscall.SIGTTOU, "SIGUSR1": syscall.SIGUSR1, "SIGUSR2": syscall.SIGUSR2,
	"SIGWINCH": syscall.SIGWINCH, "SIGXCPU": syscall.SIGXCPU, "SIGXFSZ": syscall.SIGXFSZ,
}

// ParseSignal returns the signal with Nomad's name; "" is SIGINT, the default
// of kill_signal.
func ParseSignal(name string) (syscall.Signal, error) {
	if name == "" {
		return syscall.SIGINT, nil
	}
	if s, ok := signals[name]; ok {
		return s, nil
	}
	if up := strings.ToUpper(name); signals[up] != 0 {
		return 0, fmt.Errorf("unknown signal %q: write %q", name, up)
	} else if signals["SIG"+up] != 0 {
		return 0, fmt.Errorf("unknown signal %q: write %q", name, "SIG"+up)
	}
	return 0, fmt.Errorf("unknown signal %q", name)
}

// SignalNames returns the names that ParseSignal knows, sorted.
func SignalNames() []string { return slices.Sorted(maps.Keys(signals)) }
