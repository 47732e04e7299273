//go:build !linux

package hoststats

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/hashicorp/nomad/api"
)

// Sample returns errors.ErrUnsupported.
func (s *Sampler) Sample(string) (*api.HostStats, error) {
	return nil, fmt.Errorf("cannot measure a machine with %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
