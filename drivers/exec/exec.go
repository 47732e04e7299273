// Package exec is Nomad's exec driver without its isolation: a task sees this
// machine's files and processes, and runs as the user who runs taskrun unless
// it has a user of its own. In Nomad it runs as user "nobody". See package
// bare, and https://developer.hashicorp.com/nomad/docs/drivers/exec for the
// options.
package exec

import (
	"taskrun/drivers"
	"taskrun/drivers/bare"
	"taskrun/drivers/rawexec"
)

type options struct {
	bare.Options
	Command string `cty:"command" required:"true"`
}

// New returns a driver without tasks.
func New() *rawexec.Driver {
	return bare.New("exec",
		func(o *options) (bare.Options, []string, error) { return o.Options, []string{o.Command}, nil },
		func() drivers.Fingerprint { return drivers.Healthy("exec") })
}
