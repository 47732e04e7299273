package catalog

import (
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

// docker is the schema of
// https://developer.hashicorp.com/nomad/docs/drivers/docker#task-configuration.
func docker() hcldec.Spec {
	mount := schema(
		optional(cty.String, "type", "target", "source"),
		optional(cty.Bool, "readonly"),
		block("bind_options", optional(cty.String, "propagation")),
		block("tmpfs_options", optional(cty.Number, "size", "mode")),
		block("volume_options",
			optional(cty.Bool, "no_copy"),
			optional(textMap, "labels"),
			block("driver_config", optional(cty.String, "name"), optional(textMap, "options")),
		),
	)
	return schema(
		required(cty.String, "image"),
		optional(cty.String,
			"cgroupns", "command", "cpuset_cpus", "hostname", "image_pull_timeout", "ipc_mode", "ipv4_address",
			"ipv6_address", "isolation", "load", "mac_address", "network_mode", "pid_mode", "runtime", "userns_mode",
			"uts_mode", "volume_driver", "work_dir"),
		optional(cty.Bool,
			"advertise_ipv6_address", "auth_soft_fail", "cpu_hard_limit", "force_pull", "init", "interactive",
			"privileged", "readonly_rootfs", "tty"),
		optional(cty.Number,
			"container_exists_attempts", "cpu_cfs_period", "memory_hard_limit", "oom_score_adj", "pids_limit", "shm_size"),
		optional(texts,
			"args", "cap_add", "cap_drop", "dns_options", "dns_search_domains", "dns_servers", "entrypoint", "extra_hosts",
			"group_add", "network_aliases", "ports", "security_opt", "volumes"),
		optional(textMap, "labels", "sysctl", "ulimit"),
		optional(portMap, "port_map"),
		hcldec.ObjectSpec{"storage_opt": &hcldec.BlockAttrsSpec{TypeName: "storage_opt", ElementType: cty.String}},
		block("auth", optional(cty.String, "username", "password", "email", "server_address")),
		block("healthchecks", optional(cty.Bool, "disable")),
		block("logging", optional(cty.String, "type", "driver"), optional(textMap, "config")),
		blocks("devices", optional(cty.String, "host_path", "container_path", "cgroup_permissions")),
		blocks("mount", mount),
		blocks("mounts", mount), // as it was before there were blocks
	)
}
