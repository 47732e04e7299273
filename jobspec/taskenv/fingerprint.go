package taskenv

import (
	"crypto/sha256"
	"fmt"
	"os"
	"sync"
)

// NomadVersion is the version of Nomad that taskrun follows, and the value of
// attr.nomad.version.
const NomadVersion = "2.0.6"

// Fingerprint describes this machine with the defaults of a client: pool
// "default", datacenter "dc1", region "global". The ID is the same in every
// run. Attributes are measured on first use: files are read and addresses of
// interfaces are listed, but nothing is executed. Names and values are those of
// Nomad's fingerprinters, as far as they apply to a single machine; a speed
// that cannot be measured counts as 1000 MHz. See
// https://developer.hashicorp.com/nomad/docs/reference/runtime-variable-interpolation#node-attributes.
func Fingerprint() Node {
	node := thisNode()
	node.machine = newMachine(thisHost())
	return node
}

// thisNode identifies this machine, once for all calls of Fingerprint.
var thisNode = sync.OnceValue(func() Node {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return Node{
		ID:         nodeID(thisHost().machineID(), name),
		Name:       name,
		Pool:       "default",
		Datacenter: "dc1",
		Region:     "global",

		CgroupParent: "nomad.slice",
	}
})

// nodeID makes a UUID of facts about the machine. It hashes them, because a
// machine ID must not be exposed (machine-id(5)).
func nodeID(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "taskrun node %q", part)
	}
	id := h.Sum(nil)[:16]
	id[6] = id[6]&0x0f | 0x80 // version 8: custom (RFC 9562, section 5.8)
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// newMachine returns a machine without measurements.
func newMachine(h *host) *machine {
	groups := h.groups()
	groups["nomad"] = constant(map[string]string{
		"nomad.version":           NomadVersion,
		"nomad.service_discovery": "true",
	})
	groups["plugins"] = constant(map[string]string{ // Nomad's built-in ones
		"plugins.secrets.nomad.version":     "1.0.0",
		"plugins.secrets.vault.version":     "1.0.0",
		"plugins.host_volume.mkdir.version": "0.0.1",
	})
	m := &machine{groups: make(map[string]*group, len(groups)), cores: h.usableCores}
	for step, read := range groups {
		m.groups[step] = &group{read: read}
	}
	return m
}

func constant(attributes map[string]string) reader {
	return func(string) map[string]string { return attributes }
}
