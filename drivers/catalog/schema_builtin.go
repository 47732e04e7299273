package catalog

import (
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

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
