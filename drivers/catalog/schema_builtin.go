package catalog

import (
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers/schema"
)

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
