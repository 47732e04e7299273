package rawexec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// IDRange is the range of user or group IDs from First to Last.
type IDRange struct{ First, Last uint32 }

// IDRanges is a list of ranges.
type IDRanges []IDRange

// ParseIDRanges reads a list such as "0, 100-200": numbers and ranges,
// separated by commas. An empty text is an empty list.
func ParseIDRanges(text string) (IDRanges, error) {
	var ranges IDRanges
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		low, high, both := strings.Cut(part, "-")
		if !both {
			high = low
		}
		first, err := strconv.ParseUint(strings.TrimSpace(low), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("range bound not valid: %q in %q", low, part)
		}
		last, err := strconv.ParseUint(strings.TrimSpace(high), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("range bound not valid: %q in %q", high, part)
		}
		if first > last {
			return nil, fmt.Errorf("lower bound cannot be greater than upper bound: %q", part)
		}
		ranges = append(ranges, IDRange{uint32(first), uint32(last)})
	}
	return ranges, nil
}

func (r IDRanges) contain(id uint32) bool {
	return slices.ContainsFunc(r, func(r IDRange) bool { return r.First <= id && id <= r.Last })
}
