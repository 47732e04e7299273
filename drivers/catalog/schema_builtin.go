package catalog

import (
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

// isolated are the options of every driver that isolates processes itself.
func isolated() hcldec.ObjectSpec {
	return schema(
		optional(cty.String, "pid_mode", "ipc_mode", "work_dir"),
		optional(texts, "args", "cap_add", "cap_drop"),
	)
}

// exec is the schema of
// https://developer.hashicorp.com/nomad/docs/drivers/exec#task-configuration.
func exec() hcldec.Spec {
	return schema(isolated(), required(cty.String, "command"))
}

// java is the schema of
// https://developer.hashicorp.com/nomad/docs/drivers/java#task-configuration.
func java() hcldec.Spec {
	return schema(isolated(), optional(cty.String, "class", "class_path", "jar_path"), optional(texts, "jvm_options"))
}

// qemu is the schema of
// https://developer.hashicorp.com/nomad/docs/drivers/qemu#task-configuration.
func qemu() hcldec.Spec {
	return schema(
		required(cty.String, "image_path"),
		optional(cty.String, "accelerator", "drive_interface", "emulator", "machine_type"),
		optional(cty.Bool, "graceful_shutdown", "guest_agent"),
		optional(texts, "args"),
		optional(portMap, "port_map"),
	)
}
