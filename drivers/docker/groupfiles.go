package docker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

	"taskrun/drivers"
)

// hostGateway is the word that the engine takes for the machine's address, in
// extra_hosts.
const hostGateway = "host-gateway"

// resolveInGroup gives a task that shares its group's network what it wants to
// resolve otherwise than the group. The engine refuses to do that, and lends
// it the group's files; so it gets its own.
func (c *taskConfig) resolveInGroup(cfg *drivers.TaskConfig, host *container.HostConfig) error {
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

// hostsFile is the text of a hosts(5) file with more names, each "name:address".
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

// resolvConf is the text of a resolv.conf(5) file.
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
