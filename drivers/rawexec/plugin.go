package rawexec

import (
	"errors"
	"fmt"
)

// Config is the configuration of the driver, for all tasks; see
// https://developer.hashicorp.com/nomad/docs/drivers/raw_exec#plugin-options.
type Config struct {
	// Disabled refuses every task. It is the default in Nomad, but not here.
	Disabled bool

	// DeniedHostUIDs are users that no task may run as, DeniedHostGIDs groups
	// that no user of a task may be in.
	DeniedHostUIDs, DeniedHostGIDs IDRanges

	// DeniedEnvvars are glob patterns (only *) of environment variables that
	// are removed from tasks.
	DeniedEnvvars []string
}

// options are the options of raw_exec.
type options struct {
	Enabled *bool `cty:"enabled"`
	HostOptions
	DeniedEnvvars []string `cty:"denied_envvars"`
}

// HostOptions are the options of all kinds of drivers. They prevent tasks from
// running as some users.
type HostOptions struct {
	DeniedHostUIDs string `cty:"denied_host_uids"`
	DeniedHostGIDs string `cty:"denied_host_gids"`
}

// errDisabled is Nomad's error.
var errDisabled = errors.New("raw_exec is disabled")

// permit returns an error if tasks may not run as an account or, if that is
// nil, as this program's user.
func (c *Config) permit(as *account) error {
	if len(c.DeniedHostUIDs) == 0 && len(c.DeniedHostGIDs) == 0 {
		return nil
	}
	uid, gids, err := as.ids()
	if err != nil {
		return err
	}
	if c.DeniedHostUIDs.contain(uid) {
		return fmt.Errorf("running as uid %d is disallowed: it is among denied_host_uids", uid)
	}
	for _, gid := range gids {
		if c.DeniedHostGIDs.contain(gid) {
			return fmt.Errorf("running as uid %d with gid %d is disallowed: the group is among denied_host_gids", uid, gid)
		}
	}
	return nil
}
