package catalog

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers/schema"
)

// Schema returns the schema of the config block of a driver that job files use
// and this catalog lacks, or nil. A job file that is only validated may be for
// another machine.
func Schema(driver string) hcldec.Spec {
	if driver == "qemu" {
		return qemu()
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

// AnyOptions returns a schema of the options that the tasks of a driver have, for
// plugins whose options are not known.
func AnyOptions(job *api.Job, driver string) hcldec.Spec {
	var names []string
	for _, g := range job.TaskGroups {
		for _, t := range g.Tasks {
			if t.Driver == driver {
				names = slices.AppendSeq(names, maps.Keys(t.Config))
			}
		}
	}
	return schema.Optional(cty.DynamicPseudoType, names...)
}
