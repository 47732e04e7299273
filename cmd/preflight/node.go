package preflight

import (
	"bytes"
	"maps"

	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// Node describes this machine, including the stubs and the attributes of
// drivers that jobs refer to. If health is nil, there are no driver attributes.
func Node(of []File, health *Health, stubs stub.Node) *taskenv.Node {
	node := taskenv.Fingerprint()
	node.Attributes = map[string]string{}
	if health != nil {
		node.Attributes = health.attributes(of)
	}
	for to, from := range map[*string]string{
		&node.Name: stubs.Name, &node.Class: stubs.Class, &node.Pool: stubs.Pool, &node.Datacenter: stubs.Datacenter,
	} {
		if from != "" {
			*to = from
		}
	}
	maps.Copy(node.Attributes, stubs.Attributes)
	node.Meta = stubs.Meta
	return &node
}

// attributes returns the node attributes of drivers: of those that run tasks,
// and of all if a file refers to any.
func (h *Health) attributes(of []File) map[string]string {
	wanted := driversOf(of)
	for _, f := range withJobs(of) {
		for _, text := range f.Sources {
			if !bytes.Contains(text, []byte("attr.driver.")) {
				continue
			}
			for name := range h.drivers {
				wanted[name] = true
			}
		}
	}
	attributes := map[string]string{}
	for name := range h.drivers {
		if wanted[name] {
			maps.Copy(attributes, h.Of(name).Attributes)
		}
	}
	return attributes
}
