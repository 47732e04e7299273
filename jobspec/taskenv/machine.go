package taskenv

import (
	"maps"
	"net"
	"strings"
	"sync"
)

// Core is a logical CPU, and its speed in MHz.
type Core struct{ ID, MHz int }

// machine measures groups of attributes, each group once.
type machine struct {
	groups map[string]*group // by the first step of their attributes
	cores  func() []Core     // cores that tasks may run on
}

// group is a set of attributes that are measured together.
type group struct {
	once   sync.Once
	read   reader
	values map[string]string
}

// reader measures attributes; those of storage concern the file system of
// dataDir.
type reader func(dataDir string) map[string]string

func (g *group) measured(dataDir string) map[string]string {
	g.once.Do(func() { g.values = g.read(dataDir) })
	return g.values
}

// attribute returns one attribute. It measures its group if necessary.
func (m *machine) attribute(name, dataDir string) (string, bool) {
	g := m.groups[firstStep(name)]
	if g == nil {
		return "", false
	}
	value, ok := g.measured(dataDir)[name]
	return value, ok
}

// collect copies a group into dst, or all groups if step is empty.
func (m *machine) collect(dst map[string]string, step, dataDir string) {
	for of, g := range m.groups {
		if step == "" || of == step {
			maps.Copy(dst, g.measured(dataDir))
		}
	}
}

func firstStep(name string) string {
	step, _, _ := strings.Cut(name, ".")
	return step
}

// SignalNames are the signals that job files may name, separated by commas: those
// that Nomad's drivers know, which do not include SIGCHLD and SIGURG. See
// https://developer.hashicorp.com/nomad/docs/job-specification/task#kill_signal.
const SignalNames = "SIGABRT,SIGALRM,SIGBUS,SIGCONT,SIGFPE,SIGHUP,SIGILL,SIGINT,SIGIO,SIGIOT,SIGKILL," +
	"SIGNULL,SIGPIPE,SIGPROF,SIGQUIT,SIGSEGV,SIGSTOP,SIGSYS,SIGTERM,SIGTRAP,SIGTSTP,SIGTTIN,SIGTTOU," +
	"SIGUSR1,SIGUSR2,SIGWINCH,SIGXCPU,SIGXFSZ"

// localAddress returns the first address of an interface that is not
// link-local. If iface is empty, it uses the first interface that has one. It
// returns "" if there is none.
func localAddress(iface string) string {
	all, _ := net.Interfaces()
	for _, i := range all {
		if iface == "" && i.Flags&(net.FlagUp|net.FlagLoopback) != net.FlagUp || iface != "" && i.Name != iface {
			continue
		}
		addrs, _ := i.Addrs()
		for _, addr := range addrs {
			if n, ok := addr.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
				return n.IP.String()
			}
		}
	}
	return ""
}
