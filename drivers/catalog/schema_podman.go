package catalog

import (
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

// podman is the schema of the plugin at
// https://developer.hashicorp.com/nomad/plugins/drivers/podman#task-configuration.
func podman() hcldec.Spec {
	return schema(
		required(cty.String, "image"),
		optional(cty.String,
			"apparmor_profile", "arch", "command", "hostname", "image_pull_timeout", "init_path", "ipc_mode",
			"ipv4_address", "ipv6_address", "memory_reservation", "memory_swap", "network_mode", "os", "shm_size",
			"socket", "static_mac", "userns", "variant", "working_dir"),
		optional(cty.Bool,
			"auth_soft_fail", "cpu_hard_limit", "force_pull", "init", "privileged", "readonly_rootfs", "tty"),
		optional(cty.Number, "cpu_cfs_period", "memory_swappiness", "oom_score_adj", "pids_limit"),
		optional(texts,
			"args", "cap_add", "cap_drop", "devices", "extra_hosts", "ports", "security_opt", "selinux_opts",
			"static_ips", "tmpfs", "volumes"),
		optional(textMap, "labels", "sysctl", "ulimit"),
		optional(portMap, "port_map"),
		optional(cty.DynamicPseudoType, "entrypoint"), // a string or a list of them
		block("auth", optional(cty.String, "username", "password"), optional(cty.Bool, "tls_verify")),
		block("logging", optional(cty.String, "driver"), optional(textMap, "options")),
	)
}
