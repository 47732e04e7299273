package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// services checks the services of a task. Unlike for group services, Nomad
// checks their ports before it accepts the job.
func (t *task) services() {
	if len(t.t.Services) == 0 {
		return
	}
	ports := t.servicePorts()
	for s, at := range blocks(t.t.Services, "service", t.at) {
		t.service(s, at)
		t.taskOnly(s.AddressMode, at)
		if s.TaskName != "" && s.TaskName != t.t.Name {
			t.refuse(at.Attr("task"), "a service of a task belongs to that task", fmt.Sprintf("it names task %q but is in task %q", s.TaskName, t.t.Name), "remove it")
		}
		if s.Connect != nil {
			t.refuse(at.Attr("connect"), "connect is for services of a group", "", "move the service to the group")
		}
		if s.PortLabel != "" {
			t.servicePort(s.PortLabel, s.AddressMode, ports, at)
		}
		t.taskChecks(s, ports, at)
	}
}

// servicePorts returns the labels that services of the task can use: those of
// the group's first network and of the task's own.
func (t *task) servicePorts() []string {
	var ports []string
	if len(t.g.tg.Networks) > 0 {
		ports = appendLabels(ports, t.g.tg.Networks[0])
	}
	for _, n := range orEmpty(t.t.Resources).Networks {
		ports = appendLabels(ports, n)
	}
	return ports
}

func (t *task) taskChecks(s *api.Service, ports []string, at jobspec.Path) {
	names := map[string]bool{}
	for i := range s.Checks {
		k, at := &s.Checks[i], at.Index("check", i)
		name := cmp.Or(k.Name, fmt.Sprintf("service: %q check", s.Name)) // Nomad's default
		if names[name] {
			t.refuse(at, "checks of a service need names of their own", fmt.Sprintf("two have the name %q", name), "add name = … to one of them")
		}
		names[name] = true
		if k.TaskName != "" && k.TaskName != t.t.Name {
			t.refuse(at.Attr("task"), "a check of a task's service belongs to that task",
				fmt.Sprintf("it names task %q but is in task %q", k.TaskName, t.t.Name), "remove it")
		}
		t.taskOnly(k.AddressMode, at)
		if k.PortLabel != "" && needsPort(k) {
			t.servicePort(k.PortLabel, k.AddressMode, ports, at)
		} else if _, err := strconv.Atoi(s.PortLabel); err == nil && needsPort(k) && k.AddressMode != "driver" && s.AddressMode == "driver" {
			t.refuse(at, "a port number needs address_mode driver",
				fmt.Sprintf("the service's port is %s and the check has another mode", s.PortLabel), `add address_mode = "driver" to the check`)
		}
	}
}

// taskOnly refuses the address modes of group services.
func (t *task) taskOnly(mode string, at jobspec.Path) {
	if mode == "alloc" || mode == "alloc_ipv6" {
		t.refuse(at.Attr("address_mode"), "address_mode "+mode+" is for services of a group", "", "move the service to the group, or write another mode")
	}
}

// servicePort checks an explicit port: a label or a number.
func (t *task) servicePort(port, mode string, known []string, at jobspec.Path) {
	at = at.Attr("port")
	if slices.Contains(known, port) {
		return
	}
	n, err := strconv.Atoi(port)
	switch {
	case err != nil:
		t.g.missingPort(port, known, at)
	case mode != "driver":
		t.refuse(at, "a port number needs address_mode driver", fmt.Sprintf("port is %d", n), `write the label of a port of the group, or add address_mode = "driver"`)
	case n <= 0:
		t.wrong(at, "port is out of range", fmt.Sprintf("it is %d", n), "write 1 to 65535")
	}
}
