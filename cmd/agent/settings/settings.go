// Package settings reads the configuration files of a Nomad agent, in HCL or
// JSON, and says which of their settings have no effect in a taskrun agent. See
// https://developer.hashicorp.com/nomad/docs/configuration.
package settings

import (
	"cmp"
	"net/netip"
	"time"

	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec"
)

// File is a configuration file.
type File struct {
	Name string // as the user named it
	Text []byte
}

// Settings are the settings that an agent uses. A zero value means that no file has
// the setting.
type Settings struct {
	Name, Datacenter, Region string
	DataDir                  string
	LogLevel                 string // debug, info, warn or error

	HTTPPort int
	Client   Client

	// Plugins are the options of drivers, as package cmd/config decodes them.
	Plugins []Plugin

	bind, http place // addresses to listen at
}

// Client are the settings of the node.
type Client struct {
	Class, Pool string
	Meta        map[string]string
	HostVolumes map[string]HostVolume

	MaxKillTimeout   time.Duration
	MinPort, MaxPort int    // the range of dynamic ports
	ReservedPorts    string // such as 22,8000-8100
}

// HostVolume is a directory of this machine that jobs may mount.
type HostVolume struct {
	Path     string
	ReadOnly bool
}

// Plugin is the plugin block of a driver.
type Plugin struct {
	File  string
	Block *hcl.Block
}

// Blocks returns the block in the form that package cmd/config takes.
func (p Plugin) Blocks() []*hcl.Block { return []*hcl.Block{p.Block} }

// Unheeded is a setting that has no effect.
type Unheeded struct {
	Name string // such as client.servers
	At   jobspec.Range
	Why  string // may be empty
}

// place is a text and where it was read.
type place struct {
	text string
	at   hcl.Range
}

// defaultAddress is where an agent listens if no file says otherwise.
const defaultAddress = "127.0.0.1"

// HTTPAddress returns the address of the API for a port, or "" without a port.
func (s *Settings) HTTPAddress(port int) string {
	if port = cmp.Or(s.HTTPPort, port); port == 0 {
		return ""
	}
	at, err := netip.ParseAddr(s.host())
	if err != nil {
		return ""
	}
	return netip.AddrPortFrom(at, uint16(port)).String()
}

func (s *Settings) host() string {
	host := cmp.Or(s.http.text, s.bind.text, defaultAddress)
	if host == "localhost" {
		return defaultAddress
	}
	return host
}

const maxPort = 65535
