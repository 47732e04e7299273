package settings

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

	"taskrun/drivers"
)

// hostGateway stands for the machine's address in extra_hosts, as with the engine.
const hostGateway = "host-gateway"

// dns returns how the task resolves names. That of the group takes precedence.
func (c *Config) dns(cfg *drivers.TaskConfig) drivers.DNS {
	if cfg.DNS != nil {
		return *cfg.DNS
	}
	return drivers.DNS{Servers: c.DNSServers, Searches: c.DNSSearchDomains, Options: c.DNSOptions}
}

// resolve sets how a container resolves names. The option is that of the
// servers.
func resolve(option string, dns drivers.DNS, host *container.HostConfig) error {
	for _, text := range dns.Servers {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return fmt.Errorf("%s: invalid ip dns server: %q", option, text)
		}
		host.DNS = append(host.DNS, ip)
	}
	host.DNSSearch, host.DNSOptions = dns.Searches, dns.Options
	return nil
}

// resolveInGroup gives a task that shares its group's network its own hosts and
// resolv.conf files if it asks for names or servers. The engine refuses to do
// that: it mounts the files of the group.
func (c *Config) resolveInGroup(cfg *drivers.TaskConfig, host *container.HostConfig) error {
	give := func(name, text string) error {
		dir := filepath.Join(cfg.TaskDir(), "private")
		file := filepath.Join(dir, "etc-"+name)
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			return fmt.Errorf("cannot write the task's /etc/%s: %w", name, err)
		}
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeBind, Source: file, Target: "/etc/" + name})
		return nil
	}
	if len(c.ExtraHosts) > 0 {
		text, err := hostsFile(cfg.Network, c.ExtraHosts)
		if err != nil {
			return err
		}
		if err := give("hosts", text); err != nil {
			return err
		}
	}
	if dns := c.dns(cfg); cfg.DNS == nil && len(dns.Servers)+len(dns.Searches)+len(dns.Options) > 0 {
		return give("resolv.conf", resolvConf(dns))
	}
	return nil
}

// hostsFile returns a hosts(5) file with extra names, each "name:address".
func hostsFile(n *drivers.NetworkIsolation, extra []string) (string, error) {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n" +
		"fe00::0 ip6-localnet\nff00::0 ip6-mcastprefix\nff02::1 ip6-allnodes\nff02::2 ip6-allrouters\n")
	if n.IP != "" && n.Hostname != "" {
		fmt.Fprintf(&b, "%s %s\n", n.IP, n.Hostname)
	}
	for _, entry := range extra {
		name, ip, ok := strings.Cut(entry, ":")
		if !ok || name == "" || ip == "" {
			return "", fmt.Errorf("invalid hosts entry %q: write name:address", entry)
		}
		if ip == hostGateway {
			if ip = n.Gateway; ip == "" {
				return "", fmt.Errorf("hosts entry %q: the group's network has no gateway", entry)
			}
		}
		fmt.Fprintf(&b, "%s %s\n", strings.Trim(ip, "[]"), name)
	}
	return b.String(), nil
}

// resolvConf returns a resolv.conf(5) file.
func resolvConf(dns drivers.DNS) string {
	var b strings.Builder
	for _, s := range dns.Servers {
		fmt.Fprintf(&b, "nameserver %s\n", s)
	}
	if len(dns.Searches) > 0 {
		fmt.Fprintf(&b, "search %s\n", strings.Join(dns.Searches, " "))
	}
	if len(dns.Options) > 0 {
		fmt.Fprintf(&b, "options %s\n", strings.Join(dns.Options, " "))
	}
	return b.String()
}
