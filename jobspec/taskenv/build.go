package taskenv

import (
	"cmp"
	"maps"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// Build returns a snapshot of the environment. Later changes to the Builder do
// not affect it.
func (b *Builder) Build() *Env {
	e := &Env{node: b.node, secrets: b.secrets, taskDir: b.taskDir, sharedDir: b.sharedDir}
	view := cmp.Or(b.Dirs, b.client)
	e.vars, e.warnings = b.build(view)
	e.clientVars = e.vars
	if view != b.client {
		e.clientVars, _ = b.build(b.client)
	}
	return e
}

// build returns the variables. Each step overrides those before it.
func (b *Builder) build(d Dirs) (vars map[string]string, warnings []Warning) {
	v := &variables{
		values: make(map[string]string, 20+len(b.HostEnv)+8*len(b.Ports)),
		node:   b.node,
		view:   b.View,
	}
	v.setIf("NOMAD_ALLOC_DIR", d.Alloc)
	v.setIf("NOMAD_TASK_DIR", d.Task)
	v.setIf("NOMAD_SECRETS_DIR", d.Secrets)
	v.setIdentity(b)
	if b.task != nil {
		v.setLimits(b)
		v.setOwnPorts(b.TaskPorts[b.task.Name])
	}
	for task, ports := range b.TaskPorts {
		if b.task == nil || task != b.task.Name {
			v.setTaskPorts(task, ports)
		}
	}
	v.setPorts(b.Ports, b.Network)
	if b.group != nil {
		v.setUpstreams(b.group.Services)
	}
	v.setTokens(b, d.Secrets)
	v.setBlock(b.meta(v), scope{lint: true})
	v.setHost(b.HostEnv)
	if b.task != nil {
		v.setBlock(cleanNames(b.task.Env), scope{secrets: b.secrets, lint: true})
	}
	for _, h := range b.hooks {
		v.setBlock(cleanNames(h.env), scope{})
	}
	maps.Copy(v.values, cleanNames(b.TemplateEnv))
	return v.values, v.warnings
}

func (v *variables) setIdentity(b *Builder) {
	v.setIf("NOMAD_ALLOC_ID", b.alloc.ID)
	v.setIf("NOMAD_SHORT_ALLOC_ID", b.alloc.ID[:min(8, len(b.alloc.ID))])
	v.setIf("NOMAD_ALLOC_NAME", b.alloc.Name)
	v.set("NOMAD_ALLOC_INDEX", strconv.Itoa(b.alloc.Index))
	if b.task != nil {
		v.setIf("NOMAD_TASK_NAME", b.task.Name)
	}
	if b.group != nil {
		v.setIf("NOMAD_GROUP_NAME", deref(b.group.Name))
	}
	namespace := ""
	if b.job != nil {
		v.setIf("NOMAD_JOB_ID", deref(b.job.ID))
		v.setIf("NOMAD_JOB_NAME", deref(b.job.Name))
		v.setIf("NOMAD_JOB_PARENT_ID", deref(b.job.ParentID))
		namespace = deref(b.job.Namespace)
	}
	v.set("NOMAD_NAMESPACE", cmp.Or(namespace, api.DefaultNamespace))
	v.setIf("NOMAD_REGION", b.node.Region)
	v.setIf("NOMAD_DC", b.node.Datacenter)
	v.setIf("NOMAD_PARENT_CGROUP", b.node.CgroupParent)
}

func (v *variables) setLimits(b *Builder) {
	r := b.task.Resources
	if r == nil {
		return
	}
	mhz := deref(r.CPU)
	if b.Cores.MHz > 0 {
		mhz = b.Cores.MHz
	}
	v.set("NOMAD_CPU_CORES", formatCores(b.Cores.IDs))
	v.setNumber("NOMAD_CPU_LIMIT", mhz)
	v.setNumber("NOMAD_MEMORY_LIMIT", deref(r.MemoryMB)+deref(r.SecretsMB))
	if !b.node.MemoryOversubscription {
		return
	}
	limit := deref(r.MemoryMaxMB) // -1: none
	if limit > 0 {
		limit += deref(r.SecretsMB)
	}
	v.setNumber("NOMAD_MEMORY_MAX_LIMIT", limit)
}

func (v *variables) setPorts(ports []Port, network Network) {
	for _, p := range ports {
		p = p.seen(v.view)
		v.set("NOMAD_PORT_"+p.Label, p.bind())
		v.set("NOMAD_ALLOC_PORT_"+p.Label, p.bind())
		v.set("NOMAD_HOST_PORT_"+p.Label, strconv.Itoa(p.Value))
		v.set("NOMAD_IP_"+p.Label, p.HostIP)
		v.set("NOMAD_HOST_IP_"+p.Label, p.HostIP)
		v.set("NOMAD_ADDR_"+p.Label, p.addr())
		v.set("NOMAD_HOST_ADDR_"+p.Label, p.addr())
		if network.Address != "" {
			v.set("NOMAD_ALLOC_INTERFACE_"+p.Label, network.Interface)
			v.set("NOMAD_ALLOC_IP_"+p.Label, network.Address)
			v.set("NOMAD_ALLOC_ADDR_"+p.Label, net.JoinHostPort(network.Address, p.bind()))
		}
	}
}

// setOwnPorts sets the variables of the task's own legacy ports.
func (v *variables) setOwnPorts(ports []Port) {
	for _, p := range ports {
		v.set("NOMAD_PORT_"+p.Label, strconv.Itoa(p.Value))
		p = p.seen(v.view)
		family := "NOMAD_IPv4_"
		if strings.Contains(p.HostIP, ":") {
			family = "NOMAD_IPv6_"
		}
		v.set("NOMAD_HOST_PORT_"+p.Label, strconv.Itoa(p.Value))
		v.set("NOMAD_IP_"+p.Label, p.HostIP)
		v.set(family+p.Label, p.HostIP)
		v.set("NOMAD_ADDR_"+p.Label, p.addr())
	}
}

// setTaskPorts sets the variables of another task's legacy ports.
func (v *variables) setTaskPorts(task string, ports []Port) {
	for _, p := range ports {
		p = p.seen(v.view)
		v.set("NOMAD_PORT_"+task+"_"+p.Label, strconv.Itoa(p.Value))
		v.set("NOMAD_IP_"+task+"_"+p.Label, p.HostIP)
		v.set("NOMAD_ADDR_"+task+"_"+p.Label, p.addr())
	}
}

func (v *variables) setUpstreams(services []*api.Service) {
	const ip = "127.0.0.1" // where a sidecar listens
	for _, s := range services {
		if s.Connect == nil || s.Connect.SidecarService == nil || s.Connect.SidecarService.Proxy == nil {
			continue
		}
		for _, u := range s.Connect.SidecarService.Proxy.Upstreams {
			port := strconv.Itoa(u.LocalBindPort)
			for _, name := range []string{u.DestinationName, clean(u.DestinationName)} {
				v.set("NOMAD_UPSTREAM_IP_"+name, ip)
				v.set("NOMAD_UPSTREAM_PORT_"+name, port)
				v.set("NOMAD_UPSTREAM_ADDR_"+name, net.JoinHostPort(ip, port))
			}
		}
	}
}

func (v *variables) setTokens(b *Builder, secretsDir string) {
	v.setIf("VAULT_TOKEN", b.VaultToken)
	v.setIf("VAULT_NAMESPACE", b.VaultNamespace)
	for identity, token := range b.identities {
		name := "NOMAD_TOKEN"
		if identity != "" {
			name += "_" + identity
		}
		v.set(name, token)
		v.set("NOMAD_UNIX_ADDR", "unix://"+filepath.Join(secretsDir, "api.sock"))
	}
}

// formatCores formats ascending core numbers as a cpuset list, e.g. "0-2,7".
// For none it returns a blank, as in cgroup files.
func formatCores(cores []int) string {
	if len(cores) == 0 {
		return " "
	}
	var list []byte
	for i := 0; i < len(cores); {
		last := i
		for last+1 < len(cores) && cores[last+1] == cores[last]+1 {
			last++
		}
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, int64(cores[i]), 10)
		if last > i {
			list = append(list, '-')
			list = strconv.AppendInt(list, int64(cores[last]), 10)
		}
		i = last + 1
	}
	return string(list)
}

func deref[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}
