package rawexec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// options are the options of raw_exec; see
// https://developer.hashicorp.com/nomad/docs/drivers/raw_exec#plugin-options. A driver
// is enabled by default here, but not in Nomad.
type options struct {
	Enabled *bool `cty:"enabled"`
	HostOptions
	DeniedEnvvars []string `cty:"denied_envvars"` // glob patterns (only *)
}

// HostOptions are the options of all kinds of drivers. They prevent tasks from
// running as some users.
type HostOptions struct {
	DeniedHostUIDs string `cty:"denied_host_uids"`
	DeniedHostGIDs string `cty:"denied_host_gids"`
}

func (o *options) disabled() bool { return o.Enabled != nil && !*o.Enabled }

// errDisabled is Nomad's error.
var errDisabled = errors.New("raw_exec is disabled")

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
