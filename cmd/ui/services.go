package ui

import (
	"fmt"
	"net"
	"strconv"

	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// service returns the symbol and text of a service that is offered now. That
// it no longer is goes without saying: its task ends.
func (v *plain) service(s event.Service) (symbol, text string) {
	switch {
	case !s.Registered || s.Address == "":
		return "", ""
	case s.Port == 0:
		return v.errStyle.Note("▸"), visible.String(fmt.Sprintf("service %s at %s", s.Name, s.Address))
	}
	return v.errStyle.Note("▸"), visible.String(fmt.Sprintf("service %s at %s", s.Name, net.JoinHostPort(s.Address, strconv.Itoa(s.Port))))
}

// check returns the symbol and text of what a check says.
func (v *plain) check(c event.Check) (symbol, text string) {
	switch c.Status {
	case "success":
		return v.errStyle.Good("✓"), fmt.Sprintf("check %q passes", c.Check)
	case "failure":
		return v.errStyle.Bad("!"), v.errStyle.Bad(fmt.Sprintf("check %q fails: %s", c.Check, oneLine(c.Output)))
	default:
		return "", ""
	}
}
