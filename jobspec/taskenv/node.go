package taskenv

import (
	"strconv"
	"strings"
)

// Node is the machine as job files see it: ${node.*}, ${attr.*}, ${meta.*}.
// Fields must be set before first use; after that a Node may be used from
// several goroutines at once. Copies share what was measured.
type Node struct {
	ID, Name, Class, Pool, Datacenter, Region string

	// Attributes are those known beforehand, without "attr.". They win over
	// measured ones.
	Attributes map[string]string

	// Meta is the client's meta, without "meta.". It is not the job's.
	Meta map[string]string

	// CgroupParent is the cgroup of Nomad's client in which a cluster makes those
	// of tasks; it need not exist here.
	CgroupParent string

	// MemoryOversubscription lets tasks use memory up to their memory_max.
	MemoryOversubscription bool

	// DataDir is the directory whose file system attr.unique.storage.*
	// describes. Empty: the working directory.
	DataDir string

	machine *machine // measures the other attributes; may be nil
}

// Cores are CPUs that a task has for itself, by ascending ID, and their speed
// together in MHz. Without IDs it may use any.
type Cores struct {
	IDs []int `json:"ids,omitempty"`
	MHz int   `json:"mhz"`
}

// Attribute returns an attribute by its name without "attr.", such as
// "kernel.name". Some are measured at the first call.
func (n *Node) Attribute(name string) (string, bool) {
	if value, ok := n.Attributes[name]; ok {
		return value, true
	}
	if n.machine == nil {
		return "", false
	}
	return n.machine.attribute(name, n.DataDir)
}

// AllAttributes returns all attributes, measuring those that were not yet.
func (n *Node) AllAttributes() map[string]string { return n.attributesBelow("") }

// UsableCores returns the CPUs that tasks may run on, by ascending ID; none
// where CPUs cannot be told apart. Each call measures them.
func (n *Node) UsableCores() []Core {
	if n.machine == nil {
		return nil
	}
	return n.machine.cores()
}

// CoreMHz returns the mean speed of a CPU, 0 when it is unknown.
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

// attributesBelow returns the attributes whose first step (of steps that dots
// separate) is step, or all when it is empty.
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

// nodeFields reads the node's own values by the name after "node.".
var nodeFields = map[string]func(*Node) string{
	"unique.id":   func(n *Node) string { return n.ID },
	"unique.name": func(n *Node) string { return n.Name },
	"class":       func(n *Node) string { return n.Class },
	"pool":        func(n *Node) string { return n.Pool },
	"datacenter":  func(n *Node) string { return n.Datacenter },
	"region":      func(n *Node) string { return n.Region },
}

// value returns what ${name} refers to among the values of the node.
func (n *Node) value(name string) (string, bool) {
	kind, rest, ok := strings.Cut(name, ".")
	if !ok {
		return "", false
	}
	switch kind {
	case "attr":
		return n.Attribute(rest)
	case "meta":
		value, ok := n.Meta[rest]
		return value, ok
	case "node":
		if field, ok := nodeFields[rest]; ok {
			return field(n), true
		}
	}
	return "", false
}

// values returns all that value finds.
func (n *Node) values() map[string]string {
	all := map[string]string{}
	for name, field := range nodeFields {
		all["node."+name] = field(n)
	}
	for name, value := range n.AllAttributes() {
		all["attr."+name] = value
	}
	for name, value := range n.Meta {
		all["meta."+name] = value
	}
	return all
}

// Lookup returns what an operand of a constraint, affinity or spread stands
// for: text that does not start with "${" is itself; else all of it must be
// one reference to a value of the node.
// See https://developer.hashicorp.com/nomad/docs/job-specification/constraint.
func (n *Node) Lookup(operand string) (string, bool) {
	name, ok := strings.CutPrefix(operand, "${")
	if !ok {
		return operand, true
	}
	name, ok = strings.CutSuffix(name, "}")
	if !ok || name == "node.region" { // which Nomad's scheduler does not know
		return "", false
	}
	return n.value(name)
}
