package taskenv

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

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
	for field := range maps.Keys(nodeFields) {
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
