package catalog

import (
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers/schema"
)

// Schema returns the schema of the config block of a driver that job files use
// and this catalog lacks, or nil. A job file that is only validated may be for
// another machine.
func Schema(driver string) hcldec.Spec {
	switch driver {
	case "qemu":
		return qemu()
	case "podman":
		return podman()
	}
	return nil
}

// qemu is the schema of
// https://developer.hashicorp.com/nomad/docs/drivers/qemu#task-configuration.
func qemu() hcldec.Spec {
	return schema.Join(
		schema.Required(cty.String, "image_path"),
		schema.Optional(cty.String, "accelerator", "drive_interface", "emulator", "machine_type"),
		schema.Optional(cty.Bool, "graceful_shutdown", "guest_agent"),
		schema.Optional(schema.Texts, "args"),
		schema.Optional(schema.PortMap, "port_map"),
	)
}

// podman is the schema of the plugin at
// https://developer.hashicorp.com/nomad/plugins/drivers/podman#task-configuration.
func podman() hcldec.Spec {
	return schema.Join(
		schema.Required(cty.String, "image"),
		schema.Optional(cty.String,
			"apparmor_profile", "arch", "command", "hostname", "image_pull_timeout", "init_path", "ipc_mode",
			"ipv4_address", "ipv6_address", "memory_reservation", "memory_swap", "network_mode", "os", "shm_size",
			"socket", "static_mac", "userns", "variant", "working_dir"),
		schema.Optional(cty.Bool,
			"auth_soft_fail", "cpu_hard_limit", "force_pull", "init", "privileged", "readonly_rootfs", "tty"),
		schema.Optional(cty.Number, "cpu_cfs_period", "memory_swappiness", "oom_score_adj", "pids_limit"),
		schema.Optional(schema.Texts,
			"args", "cap_add", "cap_drop", "devices", "extra_hosts", "ports", "security_opt", "selinux_opts",
			"static_ips", "tmpfs", "volumes"),
		schema.Optional(schema.TextMap, "labels", "sysctl", "ulimit"),
		schema.Optional(schema.PortMap, "port_map"),
		schema.Optional(cty.DynamicPseudoType, "entrypoint"), // a string or a list of them
		schema.Block("auth", schema.Optional(cty.String, "username", "password"), schema.Optional(cty.Bool, "tls_verify")),
		schema.Block("logging", schema.Optional(cty.String, "driver"), schema.Optional(schema.TextMap, "options")),
	)
}
