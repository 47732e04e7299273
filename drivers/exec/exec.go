// Package exec is Nomad's exec driver without its isolation: a task sees this
// machine's files and processes, and runs as the user who runs taskrun unless
// it has a user of its own. In Nomad it runs as user "nobody". See package
// bare, and https://developer.hashicorp.com/nomad/docs/drivers/exec for the
// options.
package exec

import (
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/bare"
	"taskrun/drivers/rawexec"
	"taskrun/drivers/schema"
)

// New returns a driver without tasks.
func New() *rawexec.Driver {
	return bare.New("exec", schema.Required(cty.String, "command"),
		func(config cty.Value) (string, []string, error) { return bare.Text(config, "command"), nil, nil },
		func() drivers.Fingerprint { return drivers.Healthy("exec") })
}
