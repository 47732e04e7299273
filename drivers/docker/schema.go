package docker

import (
	"sync"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers/schema"
)

// taskSchema names the options of a task's config block; see
// https://developer.hashicorp.com/nomad/docs/drivers/docker#task-configuration.
var taskSchema = sync.OnceValue(func() hcldec.Spec {
	mount := schema.Join(
		schema.Optional(cty.String, "type", "target", "source"),
		schema.Optional(cty.Bool, "readonly"),
		schema.Block("bind_options", schema.Optional(cty.String, "propagation")),
		schema.Block("tmpfs_options", schema.Optional(cty.Number, "size", "mode")),
		schema.Block("volume_options",
			schema.Optional(cty.Bool, "no_copy"),
			schema.Optional(schema.TextMap, "labels"),
			schema.Block("driver_config", schema.Optional(cty.String, "name"), schema.Optional(schema.TextMap, "options")),
		),
	)
	return schema.Join(
		schema.Required(cty.String, "image"),
		schema.Optional(cty.String,
			"cgroupns", "command", "cpuset_cpus", "hostname", "image_pull_timeout", "ipc_mode", "ipv4_address",
			"ipv6_address", "isolation", "load", "mac_address", "network_mode", "pid_mode", "runtime", "userns_mode",
			"uts_mode", "volume_driver", "work_dir"),
		schema.Optional(cty.Bool,
			"advertise_ipv6_address", "auth_soft_fail", "cpu_hard_limit", "force_pull", "init", "interactive",
			"privileged", "readonly_rootfs", "tty"),
		schema.Optional(cty.Number,
			"container_exists_attempts", "cpu_cfs_period", "memory_hard_limit", "oom_score_adj", "pids_limit", "shm_size"),
		schema.Optional(schema.Texts,
			"args", "cap_add", "cap_drop", "dns_options", "dns_search_domains", "dns_servers", "entrypoint", "extra_hosts",
			"group_add", "network_aliases", "ports", "security_opt", "volumes"),
		schema.Optional(schema.TextMap, "labels", "sysctl", "ulimit"),
		schema.Optional(schema.PortMap, "port_map"),
		hcldec.ObjectSpec{"storage_opt": &hcldec.BlockAttrsSpec{TypeName: "storage_opt", ElementType: cty.String}},
		schema.Block("auth", schema.Optional(cty.String, "username", "password", "email", "server_address")),
		schema.Block("healthchecks", schema.Optional(cty.Bool, "disable")),
		schema.Block("logging", schema.Optional(cty.String, "type", "driver"), schema.Optional(schema.TextMap, "config")),
		schema.Blocks("devices", schema.Optional(cty.String, "host_path", "container_path", "cgroup_permissions")),
		schema.Blocks("mount", mount),
		schema.Blocks("mounts", mount), // as it was before there were blocks
	)
})
