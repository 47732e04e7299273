package taskenv

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Node is the machine as job files see it: ${node.*}, ${attr.*}, ${meta.*}. Set
// the fields before the first use; after that, a Node is safe for concurrent
// use. Copies share measurements.
type Node struct {
	ID, Name, Class, Pool, Datacenter, Region string

	// Attributes are predefined attributes, without "attr.". They override
	// measured ones.
	Attributes map[string]string

	// Meta is the client's meta, without "meta.", not the job's.
	Meta map[string]string

	// ChangeMeta, if set, returns meta as users have changed it since. It must be
	// safe for concurrent use, and must not change its argument.
	ChangeMeta func(meta map[string]string) map[string]string

	// CgroupParent is the cgroup in which a cluster's Nomad client creates
	// those of tasks. It need not exist here.
	CgroupParent string

	// MemoryOversubscription allows tasks to use memory up to their memory_max.
	MemoryOversubscription bool

	// DataDir is the directory whose file system attr.unique.storage.*
	// describes. Empty: the working directory.
	DataDir string

	machine *machine // measures other attributes; may be nil
}

// Cores are CPUs reserved for a task, by ascending ID, and their total speed in
// MHz. Without IDs, the task may use any CPU.
type Cores struct {
	IDs []int `json:"ids,omitempty"`
	MHz int   `json:"mhz"`
}

// Attribute returns an attribute by its name without "attr.", such as
// "kernel.name". Some are measured on the first call.
func (n *Node) Attribute(name string) (string, bool) {
	if value, ok := n.Attributes[name]; ok {
		return value, true
	}
	if n.machine == nil {
		return "", false
	}
	return n.machine.attribute(name, n.DataDir)
}

// AllAttributes returns all attributes. It measures those that have not been
// measured yet.
func (n *Node) AllAttributes() map[string]string { return n.attributesBelow("") }

// UsableCores returns the CPUs that tasks may run on, by ascending ID, or none
// if CPUs cannot be told apart. Each call measures them.
func (n *Node) UsableCores() []Core {
	if n.machine == nil {
		return nil
	}
	return n.machine.cores()
}

// CoreMHz returns the mean speed of a CPU, or 0 if it is unknown.
func (n *Node) CoreMHz() float64 {
	number := func(name string) float64 {
		text, _ := n.Attribute(name)
		number, _ := strconv.ParseFloat(text, 64)
		return number
	}
	cores := number("cpu.numcores")
	if cores == 0 {
		return 0
	}
	return number("cpu.totalcompute") / cores
}

// attributesBelow returns the attributes whose name starts with step followed
// by a dot, or all if step is empty.
func (n *Node) attributesBelow(step string) map[string]string {
	all := map[string]string{}
	if n.machine != nil {
		n.machine.collect(all, step, n.DataDir)
	}
	for name, value := range n.Attributes {
		if step == "" || firstStep(name) == step {
			all[name] = value
		}
	}
	return all
}

// meta returns the meta as it is now.
func (n *Node) meta() map[string]string {
	if n.ChangeMeta == nil {
		return n.Meta
	}
	return n.ChangeMeta(n.Meta)
}

// nodeFields returns the node's own values by the name after "node.".
var nodeFields = map[string]func(*Node) string{
	"unique.id":   func(n *Node) string { return n.ID },
	"unique.name": func(n *Node) string { return n.Name },
	"class":       func(n *Node) string { return n.Class },
	"pool":        func(n *Node) string { return n.Pool },
	"datacenter":  func(n *Node) string { return n.Datacenter },
	"region":      func(n *Node) string { return n.Region },
}

// value returns the value of ${name} among the values of the node.
func (n *Node) value(name string) (string, bool) {
	kind, rest, ok := strings.Cut(name, ".")
	if !ok {
		return "", false
	}
	switch kind {
	case "attr":
		return n.Attribute(rest)
	case "meta":
		value, ok := n.meta()[rest]
		return value, ok
	case "node":
		if field, ok := nodeFields[rest]; ok {
			return field(n), true
		}
	}
	return "", false
}

// Lookup returns the value of an operand of a constraint, affinity or spread.
// Text that does not start with "${" is a literal; otherwise, all of it must be
// one reference to a value of the node. See
// https://developer.hashicorp.com/nomad/docs/job-specification/constraint.
func (n *Node) Lookup(operand string) (string, bool) {
	name, ok := strings.CutPrefix(operand, "${")
	if !ok {
		return operand, true
	}
	name, ok = strings.CutSuffix(name, "}")
	if !ok || name == "node.region" { // Nomad's scheduler does not know it
		return "", false
	}
	return n.value(name)
}

// attributes lists the attributes that Nomad's own fingerprinters give to nodes
// of any kind. Drivers, devices and clouds add others. See
// https://developer.hashicorp.com/nomad/docs/reference/runtime-variable-interpolation#node-attributes.
var attributes = []string{
	"cpu.arch", "cpu.frequency", "cpu.frequency.efficiency", "cpu.frequency.performance", "cpu.modelname", "cpu.numcores",
	"cpu.numcores.efficiency", "cpu.numcores.performance", "cpu.reservablecores", "cpu.totalcompute", "cpu.usablecompute",
	"kernel.arch", "kernel.landlock", "kernel.name", "kernel.version", "memory.totalbytes",
	"nomad.bridge.hairpin_mode", "nomad.revision", "nomad.service_discovery", "nomad.version", "numa.node.count",
	"os.build", "os.cgroups.version", "os.name", "os.signals", "os.version",
	"unique.advertise.address", "unique.host_id", "unique.hostname", "unique.network.ip-address", "unique.storage.bytestotal",
	"unique.storage.volume",
	"consul.datacenter", "consul.version", "vault.accessible", "vault.cluster_id", "vault.cluster_name", "vault.version",
}

// NodeNames returns the sorted names that references to a node can have: its
// own values (node.*) and the attributes that nodes of any kind may have
// (attr.*). The slice is shared: callers must not change it.
func NodeNames() []string { return nodeNames() }

var nodeNames = sync.OnceValue(func() (names []string) {
	for field := range nodeFields {
		names = append(names, "node."+field)
	}
	for _, name := range attributes {
		names = append(names, "attr."+name)
	}
	slices.Sort(names)
	return names
})

// NoNodeHas reports whether no node of any kind has a value with that name
// (node.* or attr.*).
func NoNodeHas(name string) bool {
	kind, rest, _ := strings.Cut(name, ".")
	switch kind {
	case "node":
		return nodeFields[rest] == nil
	case "attr":
		switch firstStep(rest) {
		case "cpu", "kernel", "memory", "os": // only Nomad itself measures these
			return !slices.Contains(attributes, rest)
		}
	}
	return false
}
