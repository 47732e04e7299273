package taskenv

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net"
	"os"
	"sync"
)

// NomadVersion is the version of Nomad whose behavior taskrun follows, and the
// value of attr.nomad.version.
const NomadVersion = "2.0.6"

// Fingerprint describes this machine with the defaults of a client: pool
// "default", datacenter "dc1", region "global". The ID is the same in every
// run. Attributes are measured when first asked for: files are read and
// addresses of interfaces listed, nothing is executed. Names and values are
// those of Nomad's fingerprinters, as far as they make sense on one machine;
// a speed that cannot be measured counts as 1000 MHz.
// See https://developer.hashicorp.com/nomad/docs/reference/runtime-variable-interpolation#node-attributes.
func Fingerprint() Node {
	node := thisNode()
	node.machine = newMachine(node.machine.host)
	return node
}

// thisNode identifies this machine once for all nodes that Fingerprint returns.
var thisNode = sync.OnceValue(func() Node {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	h := thisHost()
	return Node{
		ID:         nodeID(h.machineID(), name),
		Name:       name,
		Pool:       "default",
		Datacenter: "dc1",
		Region:     "global",

		CgroupParent: "nomad.slice",

		machine: newMachine(h),
	}
})

// nodeID makes a UUID of what is known of the machine, which is hashed because
// a machine ID is not to be shown around (machine-id(5)).
func nodeID(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "taskrun node %q", part)
	}
	id := h.Sum(nil)[:16]
	id[6] = id[6]&0x0f | 0x80 // version 8: of our own making (RFC 9562, section 5.8)
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// group is a set of attributes that are measured together, all those whose
// first step is step.
type group struct {
	step string
	read func(h *host, dataDir string) map[string]string
}

// machine measures the groups of a host, each once.
type machine struct {
	host     *host
	measured []measurement // as groups
}

type measurement struct {
	once   sync.Once
	values map[string]string
}

func newMachine(h *host) *machine {
	return &machine{host: h, measured: make([]measurement, len(groups))}
}

func (m *machine) values(i int, dataDir string) map[string]string {
	at := &m.measured[i]
	at.once.Do(func() { at.values = groups[i].read(m.host, dataDir) })
	return at.values
}

// attribute returns one attribute, measuring its group if needed.
func (m *machine) attribute(name, dataDir string) (string, bool) {
	step := firstStep(name)
	for i, g := range groups {
		if g.step == step {
			value, ok := m.values(i, dataDir)[name]
			return value, ok
		}
	}
	return "", false
}

// collect copies a group, or with an empty step all, into dst.
func (m *machine) collect(dst map[string]string, step, dataDir string) {
	for i, g := range groups {
		if step == "" || g.step == step {
			maps.Copy(dst, m.values(i, dataDir))
		}
	}
}

// nomadAttributes are those of the Nomad client that taskrun replaces.
func nomadAttributes(*host, string) map[string]string {
	return map[string]string{
		"nomad.version":           NomadVersion,
		"nomad.service_discovery": "true",
	}
}

// pluginAttributes are those of the plugins that Nomad has built in, with their
// versions there: providers of secret blocks and of dynamic host volumes.
func pluginAttributes(*host, string) map[string]string {
	return map[string]string{
		"plugins.secrets.nomad.version":     "1.0.0",
		"plugins.secrets.vault.version":     "1.0.0",
		"plugins.host_volume.mkdir.version": "0.0.1",
	}
}

// signalNames are the signals that a job file may name.
const signalNames = "SIGABRT,SIGALRM,SIGBUS,SIGCONT,SIGFPE,SIGHUP,SIGILL,SIGINT,SIGIO,SIGIOT,SIGKILL," +
	"SIGNULL,SIGPIPE,SIGPROF,SIGQUIT,SIGSEGV,SIGSTOP,SIGSYS,SIGTERM,SIGTRAP,SIGTSTP,SIGTTIN,SIGTTOU," +
	"SIGUSR1,SIGUSR2,SIGWINCH,SIGXCPU,SIGXFSZ"

// localAddress returns the first address of an interface that reaches beyond
// its link, or of the first interface that has one when none is named; empty
// if there is none.
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
