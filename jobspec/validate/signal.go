package validate

import (
	"fmt"
	"slices"
	"strings"

	"taskrun/jobspec"
)

// signalNames are the names that Nomad's drivers know, SIGCHLD and SIGURG not
// among them. https://developer.hashicorp.com/nomad/docs/job-specification/task#kill_signal
func signalNames() []string {
	return []string{
		"SIGNULL", "SIGABRT", "SIGALRM", "SIGBUS", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT", "SIGIO",
		"SIGIOT", "SIGKILL", "SIGPIPE", "SIGPROF", "SIGQUIT", "SIGSEGV", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP",
		"SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGXCPU", "SIGXFSZ",
	}
}

// signal refuses a name that no driver knows. A Nomad client would send SIGINT
// for it without a word.
func (c *checker) signal(at jobspec.Path, name string) {
	if name == "" {
		return
	}
	known := signalNames()
	if slices.Contains(known, name) {
		return
	}
	if hasReference(name) {
		c.warn(at, "a signal cannot be a reference", fmt.Sprintf("%q stays as it is written", name), "write a name such as SIGINT, SIGTERM or SIGHUP")
		return
	}
	upper := strings.ToUpper(name)
	remedy := orElse(didYouMean(name, known), "write a name such as SIGINT, SIGTERM or SIGHUP")
	switch {
	case slices.Contains(known, upper):
		remedy = fmt.Sprintf("write %q", upper)
	case slices.Contains(known, "SIG"+upper):
		remedy = fmt.Sprintf("write %q", "SIG"+upper)
	}
	c.refuse(at, "unknown signal", fmt.Sprintf("%q", name), remedy)
}

// changeSignal checks a signal for changes, which may be in lower case, and that
// it goes with its mode.
func (c *checker) changeSignal(at jobspec.Path, mode, name string) {
	if mode == "signal" && name == "" {
		c.refuse(at, "change_signal is missing", `change_mode is "signal"`, `add change_signal = "SIGHUP" or the like`)
	}
	c.signal(at.Attr("change_signal"), strings.ToUpper(name))
}
