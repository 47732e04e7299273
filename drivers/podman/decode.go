package podman

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/docker/settings"
	"taskrun/jobspec/taskenv"
)

// settingsOf decodes the config block of a task to the settings of its container.
func settingsOf(o *settings.Options, dnsServers []string, cfg *drivers.TaskConfig) (*settings.Config, error) {
	if cfg.Config == cty.NilVal {
		return nil, errors.New("failed to decode driver config: it is missing")
	}
	in := config{Common: o.CommonDefaults()}
	if err := taskenv.Decode(cfg.Config, &in); err != nil {
		return nil, fmt.Errorf("failed to decode driver config: %w", err)
	}
	c := &settings.Config{
		Common: in.Common, WorkDir: in.WorkingDir, MACAddress: in.StaticMAC, DNSServers: dnsServers, UsernsMode: in.Userns,
		ContainerExistsAttempts: o.ContainerExistsAttempts,
		Extra:                   settings.Extra{PreferLocal: true, Platform: in.platform(), MemorySwappiness: in.MemorySwappiness},
	}
	c.CPUCFSPeriod, c.SecurityOpt = max(in.CPUCFSPeriod, 1000), in.securityOptions()
	if in.Auth != nil {
		c.Auth = &settings.Auth{Username: in.Auth.Username, Password: in.Auth.Password}
	}
	if len(c.Ports) > 0 && len(c.PortMap) > 0 {
		return nil, errors.New("Invalid port declaration; use of port_map and ports") //nolint:staticcheck // Nomad's words
	}
	for _, set := range []func(*drivers.TaskConfig, *settings.Config) error{
		in.setImage, in.setEntrypoint, in.setNetwork, in.setIPC, in.setSizes, in.setMounts, in.setLogging,
	} {
		if err := set(cfg, c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// adapt replaces settings that only Podman has with those of a Docker engine, and
// drops the capabilities that Podman would not give to a container.
func adapt(c *settings.Config) {
	if mode, _, _ := strings.Cut(c.NetworkMode, ":"); mode == "slirp4netns" || mode == "pasta" {
		c.NetworkMode = ""
	}
	if c.UsernsMode != "host" {
		c.UsernsMode = ""
	}
	for _, name := range []string{"AUDIT_WRITE", "MKNOD", "NET_RAW"} {
		if !settings.IncludesCap(c.CapAdd, name) && !settings.IncludesCap(c.CapDrop, name) {
			c.CapDrop = append(slices.Clip(c.CapDrop), name)
		}
	}
}

func (in *config) securityOptions() []string {
	all := slices.Clone(in.SecurityOpt)
	if in.ApparmorProfile != "" {
		all = append(all, "apparmor="+in.ApparmorProfile)
	}
	for _, label := range in.SELinuxOpts {
		all = append(all, "label="+label)
	}
	return all
}

// platform returns the platform of the image, if the task asks for one.
func (in *config) platform() string {
	if in.Arch == "" && in.OS == "" && in.Variant == "" {
		return ""
	}
	return strings.TrimRight(strings.Join([]string{cmp.Or(in.OS, "linux"), in.Arch, in.Variant}, "/"), "/")
}

// setImage takes the name of an image apart: docker://NAME is the same as NAME,
// and an archive has the image itself.
func (in *config) setImage(_ *drivers.TaskConfig, c *settings.Config) error {
	for _, transport := range []string{"docker-archive:", "oci-archive:"} {
		rest, ok := strings.CutPrefix(in.Image, transport)
		if !ok {
			continue
		}
		if strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://") {
			return fmt.Errorf("image %q: archives are not downloaded; use an artifact block and %slocal/FILE", in.Image, transport)
		}
		c.Image = "" // that of the archive
		path, _, _ := strings.Cut(rest, ":")
		if local, ok := strings.CutPrefix(strings.TrimPrefix(path, "/"), "local/"); ok {
			c.Load = local
		} else {
			c.Archive = path
		}
		return nil
	}
	c.Image = strings.TrimPrefix(in.Image, "docker://")
	if c.Image == "" {
		return errors.New("image name required")
	}
	if domain, _, ok := strings.Cut(c.Image, "/"); !ok || domain != "localhost" && !strings.ContainsAny(domain, ".:") {
		c.LocalNames = []string{"localhost/" + c.Image} // as Podman names what it built
	}
	return nil
}

func (in *config) setEntrypoint(_ *drivers.TaskConfig, c *settings.Config) error {
	v := in.Entrypoint
	switch {
	case v == cty.NilVal || v.IsNull():
	case v.Type() == cty.String:
		c.Entrypoint = []string{v.AsString()}
	case v.CanIterateElements() && !v.Type().IsMapType() && !v.Type().IsObjectType():
		return taskenv.Decode(v, &c.Entrypoint)
	default:
		return fmt.Errorf("entrypoint must be a list of strings, not %s", v.Type().FriendlyName())
	}
	return nil
}

// setNetwork sets the network, which is that of the group if there is one.
func (in *config) setNetwork(cfg *drivers.TaskConfig, c *settings.Config) error {
	c.NetworkMode = ""
	if cfg.Network == nil {
		c.NetworkMode = ofTask(in.NetworkMode, cfg)
	}
	for _, text := range in.StaticIPs {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return fmt.Errorf("static_ips: %w", err)
		}
		address := &c.IPv6Address
		if ip.Is4() {
			address = &c.IPv4Address
		}
		*address = cmp.Or(*address, text)
	}
	return nil
}

func (in *config) setIPC(cfg *drivers.TaskConfig, c *settings.Config) error {
	c.IPCMode = ofTask(in.IPCMode, cfg)
	mode, _, named := strings.Cut(in.IPCMode, ":")
	switch mode {
	case "", "private", "shareable", "host", "none", "container", "ns", "task":
	default:
		return fmt.Errorf("invalid ipc_mode %q: expected one of host, private, shareable, none, container:<id>, ns:<path>, task:<name>", in.IPCMode)
	}
	if in.ShmSize != "" && (named || mode == "host" || mode == "none") {
		return fmt.Errorf("shm_size cannot be used with ipc_mode %q: it requires an IPC namespace of the container's own", in.IPCMode)
	}
	return nil
}

// ofTask converts the mode task:NAME, which names another task of the
// allocation, to that of its container.
func ofTask(mode string, cfg *drivers.TaskConfig) string {
	if task, ok := strings.CutPrefix(mode, "task:"); ok {
		return "container:" + settings.ContainerName(task, cfg.AllocID)
	}
	return mode
}

func (in *config) setSizes(_ *drivers.TaskConfig, c *settings.Config) error {
	return cmp.Or(
		setSize(&c.MemoryReservation, "memory_reservation", in.MemoryReservation),
		setSize(&c.MemorySwap, "memory_swap", in.MemorySwap),
		setSize(&c.ShmSize, "shm_size", in.ShmSize),
	)
}

// setSize sets a size such as "100m", in bytes, unless the text is empty.
func setSize(to *int64, option, text string) error {
	if text == "" {
		return nil
	}
	number, unit := text[:len(text)-1], strings.IndexByte("bkmg", text[len(text)-1])
	n, err := strconv.ParseInt(number, 10, 32)
	if unit < 0 || err != nil || n < 0 {
		return fmt.Errorf("%s: %q is not a size: write a number with b, k, m or g", option, text)
	}
	*to = n << (10 * unit)
	return nil
}

// setMounts sets tmpfs and devices: "path[:options]" and "path[:path[:permissions]]".
func (in *config) setMounts(_ *drivers.TaskConfig, c *settings.Config) error {
	for _, text := range in.Tmpfs {
		path, opts, _ := strings.Cut(text, ":")
		if c.Tmpfs == nil {
			c.Tmpfs = map[string]string{}
		}
		c.Tmpfs[path] = opts
	}
	for _, text := range in.Devices {
		part := append(strings.SplitN(text, ":", 3), "", "")
		c.Devices = append(c.Devices, settings.Device{HostPath: part[0], ContainerPath: part[1], CgroupPermissions: part[2]})
	}
	return nil
}

func (in *config) setLogging(_ *drivers.TaskConfig, c *settings.Config) error {
	if in.Logging == nil {
		return nil
	}
	var err error
	c.Logging, err = logTo(in.Logging.Driver, in.Logging.Options)
	return err
}

// logTo returns how the engine logs; nil for the plugin's default, with which
// Nomad collects the output.
func logTo(driver string, options []map[string]string) (*settings.Logging, error) {
	switch driver {
	case "", "nomad":
		return nil, nil
	case "journald":
		return &settings.Logging{Type: driver, Config: options}, nil
	}
	return nil, fmt.Errorf(`invalid logging driver %q: it is "nomad" or "journald"`, driver)
}
