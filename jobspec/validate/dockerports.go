package validate

import (
	"fmt"
	"slices"
	"strings"
)

// dockerPorts warns of labels in the ports option of a container that no network
// of the group has: Nomad accepts the job, and the container does not start. It is
// the one option of drivers that refers to another part of the job.
func (t *task) dockerPorts() {
	if t.t.Driver != "docker" && t.t.Driver != "podman" {
		return
	}
	labels, _ := t.t.Config["ports"].([]any)
	known := slices.Concat(t.g.ports.group, t.g.ports.legacy)
	for i, label := range labels {
		label, ok := label.(string)
		if !ok || slices.Contains(known, label) || strings.Contains(label, "${") {
			continue
		}
		t.warn(t.at.Attr("config").Index("ports", i), fmt.Sprintf("port %q is not defined", label), fmt.Sprintf("group %q has no such port", t.g.name),
			orElse(didYouMean(label, known), fmt.Sprintf("add network { port %q {} } to the group", label)))
	}
}
