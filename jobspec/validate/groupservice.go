package validate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// groupService checks what holds for the services of a group only.
func (g *group) groupService(s *api.Service, at jobspec.Path) {
	g.service(s, at)
	if s.AddressMode == "driver" {
		g.refuse(at.Attr("address_mode"), "address_mode driver is for services of a task", "", "move the service into the task, or write another mode")
	}
	if s.TaskName != "" && !g.hasTask(s.TaskName) {
		g.warn(at.Attr("task"), fmt.Sprintf("task %q is not defined", s.TaskName), fmt.Sprintf("group %q has no such task", g.name), didYouMean(s.TaskName, g.taskNames()))
	}
	g.portReference(s.PortLabel, at.Attr("port"))
	for i := range s.Checks {
		g.groupCheck(s, &s.Checks[i], at.Index("check", i))
	}
	if s.Connect != nil {
		g.connect(s, at)
	}
}

func (g *group) groupCheck(s *api.Service, k *api.ServiceCheck, at jobspec.Path) {
	switch {
	case k.TaskName == "" && s.TaskName == "" && k.Type == checkScript:
		g.refuse(at, "script check names no task", "the script runs inside a task", "add task = … to the check or its service")
	case k.TaskName != "" && !g.hasTask(k.TaskName):
		g.refuse(at.Attr("task"), fmt.Sprintf("task %q is not defined", k.TaskName),
			fmt.Sprintf("group %q has no such task", g.name), didYouMean(k.TaskName, g.taskNames()))
	}
	if k.TaskName != "" && k.AddressMode == "driver" {
		g.refuse(at.Attr("address_mode"), "address_mode driver is for services of a task", "", "move the service into the task, or write another mode")
	}
	if !k.Expose { // Nomad makes the port of such a check
		g.portReference(k.PortLabel, at.Attr("port"))
	}
}

// portReference refuses the label of a port that the group does not have: Nomad
// accepts it, and the allocation fails when the service is registered. Numbers
// and what is known only at run time pass.
func (g *group) portReference(label string, at jobspec.Path) {
	if _, err := strconv.Atoi(label); label == "" || err == nil || strings.Contains(label, "${") || slices.Contains(g.ports.group, label) {
		return
	}
	g.missingPort(label, g.ports.group, at)
}

func (g *group) missingPort(label string, known []string, at jobspec.Path) {
	g.refuse(at, fmt.Sprintf("port %q is not defined", label), fmt.Sprintf("group %q has no such port", g.name),
		orElse(didYouMean(label, known), fmt.Sprintf("add network { port %q {} } to the group", label)))
}
