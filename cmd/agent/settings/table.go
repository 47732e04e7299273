package settings

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
)

const pluginKey = "plugin"

type setter func(r *reader, m member)

// table has the settings that an agent obeys. A block has no setter.
var table = map[string]setter{
	"name":       text(func(s *Settings) *string { return &s.Name }),
	"datacenter": text(func(s *Settings) *string { return &s.Datacenter }),
	"region":     text(func(s *Settings) *string { return &s.Region }),
	"data_dir":   text(func(s *Settings) *string { return &s.DataDir }),
	"log_level":  kept((*reader).logLevel, func(s *Settings) *string { return &s.LogLevel }),
	"bind_addr":  kept((*reader).address, func(s *Settings) *place { return &s.bind }),

	"addresses":      nil,
	"addresses.http": kept((*reader).address, func(s *Settings) *place { return &s.http }),
	"ports":          nil,
	"ports.http":     kept((*reader).port, func(s *Settings) *int { return &s.HTTPPort }),

	"client":                         nil,
	"client.node_class":              text(func(s *Settings) *string { return &s.Client.Class }),
	"client.node_pool":               text(func(s *Settings) *string { return &s.Client.Pool }),
	"client.meta":                    setMeta,
	"client.host_volume":             setHostVolumes,
	"client.max_kill_timeout":        kept((*reader).duration, func(s *Settings) *time.Duration { return &s.Client.MaxKillTimeout }),
	"client.min_dynamic_port":        setPort(func(s *Settings) *int { return &s.Client.MinPort }),
	"client.max_dynamic_port":        setPort(func(s *Settings) *int { return &s.Client.MaxPort }),
	"client.reserved":                nil,
	"client.reserved.reserved_ports": kept((*reader).reservedPorts, func(s *Settings) *string { return &s.Client.ReservedPorts }),
	"client.enabled":                 setEnabled,

	// The metrics are always there, and Prometheus may fetch them.
	"telemetry":                            nil,
	"telemetry.prometheus_metrics":         isSo,
	"telemetry.publish_allocation_metrics": isSo,
	"telemetry.publish_node_metrics":       isSo,
	"telemetry.disable_hostname":           isSo,
}

// unheededBelow has the other keys of a Nomad agent, by block. Their values are not
// read.
var unheededBelow = map[string][]string{
	"": {
		"acl", "advertise", "audit", "autopilot", "consul", "disable_anonymous_signature", "disable_update_check", "enable_debug",
		"enable_syslog", "eventlog", "http_api_response_headers", "keyring", "leave_on_interrupt", "leave_on_terminate", "limits",
		"log_file", "log_include_location", "log_json", "log_rotate_bytes", "log_rotate_duration", "log_rotate_max_files",
		"plugin_dir", "reporting", "rpc", "sentinel", "server", "syslog_facility", "tls", "ui", "vault",
	},
	"addresses": {"rpc", "serf"},
	"ports":     {"rpc", "serf"},
	"client": {
		"alloc_dir", "alloc_mounts_dir", "artifact", "bind_wildcard_default_host_network", "bridge_network_hairpin_mode",
		"bridge_network_name", "bridge_network_subnet", "bridge_network_subnet_ipv6", "cgroup_parent", "chroot_env",
		"client_max_port", "client_min_port", "cni_config_dir", "cni_path", "common_plugin_dir", "cpu_disable_dmidecode",
		"cpu_total_compute", "default_ineligible", "disable_remote_exec", "disk_free_mb", "disk_total_mb", "drain_on_shutdown",
		"fingerprint", "gc_disk_usage_threshold", "gc_inode_usage_threshold", "gc_interval", "gc_max_allocs",
		"gc_parallel_destroys", "gc_volumes_on_node_gc", "host_network", "host_volume_plugin_dir", "host_volumes_dir",
		"log_file", "memory_total_mb", "network_interface", "network_speed", "no_host_uuid", "node_max_allocs",
		"nomad_service_discovery", "options", "preferred_address_family", "reservable_cores", "server_join", "servers",
		"state_dir", "template", "users",
	},
	"client.reserved": {"cores", "cpu", "disk", "memory"},
	"telemetry": {
		"allowed_metadata_keys_in_metrics", "circonus_api_app", "circonus_api_token", "circonus_api_url", "circonus_broker_id",
		"circonus_broker_select_tag", "circonus_check_display_name", "circonus_check_force_metric_activation",
		"circonus_check_id", "circonus_check_instance_id", "circonus_check_search_tag", "circonus_check_tags",
		"circonus_submission_interval", "circonus_submission_url", "collection_interval", "datadog_address", "datadog_tags",
		"disable_allocation_hook_metrics", "disable_dispatched_job_summary_metrics", "disable_quota_utilization_metrics",
		"disable_rpc_rate_metrics_labels", "filter_default", "in_memory_collection_interval", "in_memory_retention_period",
		"include_alloc_metadata_in_metrics", "prefix_filter", "statsd_address", "statsite_address", "use_node_name",
	},
}

// kept returns the setter that reads a value and keeps it where of says.
func kept[T any](read func(*reader, member) (T, bool), of func(*Settings) *T) setter {
	return func(r *reader, m member) {
		if val, ok := read(r, m); ok {
			*of(&r.settings) = val
		}
	}
}

func text(of func(*Settings) *string) setter { return kept((*reader).text, of) }

func (r *reader) address(m member) (place, bool) {
	text, ok := r.text(m)
	if !ok {
		return place{}, false
	}
	return place{strings.TrimSpace(text), m.expr.Range()}, true
}

func setPort(of func(*Settings) *int) setter {
	set := kept((*reader).port, of)
	return func(r *reader, m member) {
		r.portsAt = m.at
		set(r, m)
	}
}

// logLevels maps the log levels of Nomad to those of taskrun.
var logLevels = map[string]string{"trace": "debug", "debug": "debug", "info": "info", "warn": "warn", "error": "error"}

func (r *reader) logLevel(m member) (string, bool) {
	text, ok := r.text(m)
	level := logLevels[strings.ToLower(text)]
	if ok && level == "" {
		r.refuse(m.expr.Range(), fmt.Sprintf("unknown log level %q", text), "", "write TRACE, DEBUG, INFO, WARN or ERROR")
	}
	return level, level != ""
}

// setEnabled lists a client that is turned off: an agent always runs jobs.
func setEnabled(r *reader, m member) {
	if val, ok := r.value(m, cty.Bool, "true or false"); ok && val.False() {
		r.unheed("client.enabled", m.at)
	}
}

// isSo reads a setting that is obeyed without being kept.
func isSo(r *reader, m member) { r.value(m, cty.Bool, "true or false") }

func setMeta(r *reader, m member) {
	if r.settings.Client.Meta == nil {
		r.settings.Client.Meta = map[string]string{}
	}
	maps.Copy(r.settings.Client.Meta, r.texts(m))
}

func setHostVolumes(r *reader, m member) {
	list, ok := m.members()
	if !ok {
		r.refuse(m.at, "host_volume must be a block with a name", "", `write host_volume "name" { path = "/path" }`)
		return
	}
	for _, one := range list {
		if volume, ok := r.hostVolume(one); ok {
			if r.settings.Client.HostVolumes == nil {
				r.settings.Client.HostVolumes = map[string]HostVolume{}
			}
			r.settings.Client.HostVolumes[one.name] = volume
		}
	}
}

func (r *reader) hostVolume(m member) (v HostVolume, ok bool) {
	list, ok := m.members()
	if !ok {
		r.refuse(m.at, "host_volume must be a block with a name", "", `write host_volume "name" { path = "/path" }`)
		return v, false
	}
	for _, one := range list {
		switch one.name {
		case "path":
			if v.Path, ok = r.text(one); !ok {
				return v, false
			}
		case "read_only":
			val, ok := r.value(one, cty.Bool, "true or false")
			v.ReadOnly = ok && val.True()
		default:
			r.refuse(one.at, "unknown key "+strconv.Quote(one.name), "a host volume has a path and read_only", "delete it")
		}
	}
	if !filepath.IsAbs(v.Path) {
		r.refuse(m.at, fmt.Sprintf("host volume %q needs an absolute path", m.name), "", "write path = \"/…\"")
		return v, false
	}
	return v, true
}

// reservedPorts reads ports such as 22,80,8000-8100.
func (r *reader) reservedPorts(m member) (string, bool) {
	text, ok := r.text(m)
	if ok && slices.ContainsFunc(strings.Split(text, ","), func(part string) bool { return !isPortRange(strings.TrimSpace(part)) }) {
		r.refuse(m.expr.Range(), fmt.Sprintf("invalid ports %q", text), "", `write ports and ranges, such as "22,8000-8100"`)
		return "", false
	}
	return text, ok
}

func isPortRange(text string) bool {
	from, to, isRange := strings.Cut(text, "-")
	first, ok := port(from)
	if !ok || !isRange {
		return ok
	}
	last, ok := port(to)
	return ok && first <= last
}

func port(text string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	return n, err == nil && n >= 1 && n <= maxPort
}
