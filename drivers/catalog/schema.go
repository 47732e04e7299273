package catalog

import (
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
		return schema.Of[qemu]()
	}
	return nil
}

// qemu are the options of
// https://developer.hashicorp.com/nomad/docs/drivers/qemu#task-configuration.
type qemu struct {
	ImagePath        string           `cty:"image_path" required:"true"`
	Accelerator      string           `cty:"accelerator"`
	DriveInterface   string           `cty:"drive_interface"`
	Emulator         string           `cty:"emulator"`
	MachineType      string           `cty:"machine_type"`
	GracefulShutdown bool             `cty:"graceful_shutdown"`
	GuestAgent       bool             `cty:"guest_agent"`
	Args             []string         `cty:"args"`
	PortMap          []map[string]int `cty:"port_map"`
}

// AnyOptions returns a schema of the options that the tasks of a driver have, for
// plugins whose options are not known.
func AnyOptions(job *api.Job, driver string) hcldec.Spec {
	spec := hcldec.ObjectSpec{}
	for _, g := range job.TaskGroups {
		for _, t := range g.Tasks {
			if t.Driver == driver {
				for name := range t.Config {
					spec[name] = &hcldec.AttrSpec{Name: name, Type: cty.DynamicPseudoType}
				}
			}
		}
	}
	return spec
}
