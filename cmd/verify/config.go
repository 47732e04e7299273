package verify

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"taskrun/jobspec/stub"
)

// Node is the part of an agent's configuration that a job needs for its placement,
// besides Nomad's defaults.
type Node struct {
	Datacenter, Region, Class, Pool string // empty: Nomad's default
	Meta                            map[string]string
	HostVolumes                     map[string]stub.HostVolume
}

// ports are the ports of an agent on the loopback interface.
type ports struct{ http, rpc, serf int }

// config returns the configuration of an agent that keeps everything in a
// directory, and has no peers.
func config(dir string, p ports, n Node) string {
	var b strings.Builder
	set := func(indent, key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s%s = %q\n", indent, key, value)
		}
	}
	set("", "bind_addr", loopback)
	set("", "log_level", "INFO")
	set("", "datacenter", n.Datacenter)
	set("", "region", n.Region)
	fmt.Fprintf(&b, `disable_update_check = true
ports {
  http = %d
  rpc = %d
  serf = %d
}
client {
  enabled = true
  options = {
    "fingerprint.denylist" = "env_aws,env_gce,env_azure,env_digitalocean"
  }
`, p.http, p.rpc, p.serf)
	set("  ", "alloc_dir", filepath.Join(dir, allocDir))
	set("  ", "alloc_mounts_dir", filepath.Join(dir, "m"))
	set("  ", "state_dir", filepath.Join(dir, "c"))
	set("  ", "node_class", n.Class)
	set("  ", "node_pool", n.Pool)
	if len(n.Meta) > 0 {
		b.WriteString("  meta = {\n")
		for _, key := range slices.Sorted(maps.Keys(n.Meta)) {
			fmt.Fprintf(&b, "    %q = %q\n", key, n.Meta[key])
		}
		b.WriteString("  }\n")
	}
	for _, name := range slices.Sorted(maps.Keys(n.HostVolumes)) {
		v := n.HostVolumes[name]
		fmt.Fprintf(&b, "  host_volume %q {\n    path = %q\n    read_only = %t\n  }\n", name, v.Path, v.ReadOnly)
	}
	// Without these, the agent would register itself in a Consul on this machine.
	fmt.Fprintf(&b, `}
consul {
  address = "%s:1"
  auto_advertise = false
  server_auto_join = false
  client_auto_join = false
}
limits {
  http_max_conns_per_client = 0
}
plugin "raw_exec" {
  config {
    enabled = true
  }
}
`, loopback)
	return b.String()
}

const (
	loopback = "127.0.0.1"
	// allocDir is short because it is part of the paths of sockets.
	allocDir = "a"
)
