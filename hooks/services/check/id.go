package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// SetID gives the check its ID, which tells it from every other check of every
// allocation and stays the same as long as the check does.
func (c *Check) SetID(alloc string) {
	h := sha256.New()
	for _, part := range []any{
		alloc, c.Group, c.Task, c.Service, c.Name, c.Type, c.PortLabel, c.OnUpdate, c.AddressMode,
		c.Interval, c.Timeout, c.Protocol, c.Path, c.Method, c.TLSSkipVerify, c.Command, c.Args,
		c.Header, c.Body, c.GRPCService, c.GRPCUseTLS, c.TLSServerName,
	} {
		fmt.Fprintf(h, "%v\x00", part)
	}
	c.ID = hex.EncodeToString(h.Sum(nil))[:32]
}
