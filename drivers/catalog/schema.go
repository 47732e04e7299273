package catalog

import "github.com/hashicorp/hcl/v2/hcldec"

// Schema returns the schema of the config block of a driver that job files name
// and this catalog does not have, or nil where that is not known either. A job
// file that is only looked at may be meant for another machine.
func Schema(driver string) hcldec.Spec {
	switch driver {
	case "qemu":
		return qemu()
	case "podman":
		return podman()
	}
	return nil
}
