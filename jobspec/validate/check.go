package validate

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

const (
	checkHTTP   = "http"
	checkTCP    = "tcp"
	checkGRPC   = "grpc"
	checkScript = "script"

	minCheckTime  = time.Second
	maxCheckNotes = 255
)

type check struct {
	*checker
	*api.ServiceCheck
	service *api.Service
	at      jobspec.Path
}

// check applies the rules for a check of any service.
// https://developer.hashicorp.com/nomad/docs/job-specification/check
func (k *check) check() {
	k.checkType()
	k.checkTime(k.at.Attr("interval"), "interval", k.Interval)
	k.checkTime(k.at.Attr("timeout"), "timeout", k.Timeout)
	k.choice(k.at.Attr("initial_status"), "initial status", k.InitialStatus, "", "passing", "warning", "critical")
	k.choice(k.at.Attr("address_mode"), "address mode of a check", k.AddressMode, "", "host", "driver", "alloc", "alloc_ipv6")
	k.choice(k.at.Attr("on_update"), "on_update value", k.OnUpdate, onUpdates()...)
	k.checkRestart()
	if needsPort(k.ServiceCheck) && k.PortLabel == "" && k.service.PortLabel == "" && !isTerminating(k.service) {
		k.refuse(k.at, "check has no port", "neither has its service", "add port = … to the check or its service")
	}
	k.noEffect(k.at.Attr("advertise"), k.Advertise != "", "remove it")
	switch k.service.Provider {
	case providerConsul:
		k.consulCheck()
	case providerNomad:
		k.nomadCheck()
	}
}

// isTerminating reports whether a service is a terminating gateway, to which a
// Nomad server gives a port.
func isTerminating(s *api.Service) bool {
	return s.Connect != nil && s.Connect.Gateway != nil && s.Connect.Gateway.Terminating != nil
}

// needsPort reports whether a check connects to something.
func needsPort(k *api.ServiceCheck) bool {
	return k.Type == checkHTTP || k.Type == checkTCP || k.Type == checkGRPC
}

func (k *check) checkType() {
	kind := strings.ToLower(k.Type)
	types := []string{checkHTTP, checkTCP, checkScript, checkGRPC}
	if k.service.Provider == providerNomad {
		if kind == checkScript || kind == checkGRPC {
			k.refuse(k.at.Attr("type"), "a nomad service has no "+kind+" checks",
				`the service's provider is "nomad"`, `write type = "http" or "tcp", or provider = "consul" in the service`)
			return
		}
		types = types[:2]
	}
	if !k.choice(k.at.Attr("type"), "check type", kind, types...) {
		return
	}
	switch kind {
	case checkHTTP:
		u, err := url.Parse(k.Path)
		switch {
		case k.Path == "":
			k.refuse(k.at, "http check has no path", "", `add path = "/" or the like`)
		case err != nil:
			k.wrong(k.at.Attr("path"), "invalid path", err.Error(), `write a path such as "/health"`)
		case u.IsAbs():
			k.wrong(k.at.Attr("path"), "path is a whole URL",
				fmt.Sprintf("%q", k.Path), fmt.Sprintf("write %q; address and port are those of the service", cmp.Or(u.RequestURI(), "/")))
		}
	case checkScript:
		k.required(k.at, k.Command, "script check has no command", `add command = "/PATH"`)
	}
}

func (k *check) checkTime(at jobspec.Path, name string, d time.Duration) {
	if d == 0 {
		k.refuse(at, "check has no "+name, "", fmt.Sprintf(`add %s = "10s" or the like`, name))
		return
	}
	k.tooShort(jobspec.Error, at, name+" of the check", d, minCheckTime)
}

func (k *check) checkRestart() {
	r := k.CheckRestart
	if r == nil {
		return
	}
	block := k.at.Attr("check_restart")
	k.notBelowZero(block.Attr("limit"), r.Limit)
	k.notNegative(block.Attr("grace"), r.Grace)
	switch {
	case k.OnUpdate == api.OnUpdateIgnore:
		k.refuse(k.at.Attr("on_update"), `on_update "ignore" excludes check_restart`, "a check that does not count for an update cannot restart the task", "remove one of them")
	case k.OnUpdate == api.OnUpdateIgnoreWarn && !r.IgnoreWarnings:
		k.refuse(k.at.Attr("on_update"), `on_update "ignore_warnings" excludes a check_restart that counts them`, "", "add ignore_warnings = true to check_restart")
	}
}

func (k *check) consulCheck() {
	kind := strings.ToLower(k.Type)
	if k.Expose && kind != checkHTTP && kind != checkGRPC {
		k.refuse(k.at.Attr("expose"), "expose is for http and grpc checks", fmt.Sprintf("type is %q", k.Type), "remove it")
	}
	thresholds := []struct {
		name string
		n    int
	}{
		{"success_before_passing", k.SuccessBeforePassing},
		{"failures_before_critical", k.FailuresBeforeCritical},
		{"failures_before_warning", k.FailuresBeforeWarning},
	}
	for _, t := range thresholds {
		if t.n > 0 && !needsPort(k.ServiceCheck) {
			k.refuse(k.at.Attr(t.name), t.name+" is for tcp, http and grpc checks", fmt.Sprintf("type is %q", k.Type), "remove it")
		}
	}
	if len(k.Notes) > maxCheckNotes {
		k.wrong(k.at.Attr("notes"), "notes are too long", fmt.Sprintf("they have %d bytes", len(k.Notes)), fmt.Sprintf("keep them to %d bytes", maxCheckNotes))
	}
	if k.Type == checkTCP && k.service.Connect != nil && k.service.Connect.SidecarService != nil {
		k.refuse(k.at.Attr("type"), "a tcp check cannot reach a service behind a sidecar",
			"it listens on the loopback of its network namespace", "remove the check, or write an http or grpc check with expose = true")
	}
}

// nomadCheck refuses settings that only Consul supports.
func (k *check) nomadCheck() {
	consulOnly := []struct {
		attr string
		used bool
	}{
		{"expose", k.Expose},
		{"success_before_passing", k.SuccessBeforePassing != 0},
		{"failures_before_critical", k.FailuresBeforeCritical != 0},
		{"failures_before_warning", k.FailuresBeforeWarning != 0},
		{"tls_server_name", k.TLSServerName != ""},
	}
	for _, o := range consulOnly {
		if o.used {
			k.refuse(k.at.Attr(o.attr), o.attr+" needs provider consul", `the service's provider is "nomad"`, "remove it")
		}
	}
	if k.OnUpdate == api.OnUpdateIgnoreWarn {
		k.refuse(k.at.Attr("on_update"), "checks of a nomad service have no warnings", `on_update is "ignore_warnings"`, "write require_healthy or ignore")
	}
	if k.CheckRestart != nil && k.CheckRestart.IgnoreWarnings {
		k.refuse(k.at.Attr("check_restart").Attr("ignore_warnings"), "checks of a nomad service have no warnings", "", "remove it")
	}
	if k.AddressMode == "driver" {
		k.refuse(k.at.Attr("address_mode"), "address_mode driver needs provider consul", `the service's provider is "nomad"`, "write another mode")
	}
	methods := []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace,
	}
	if k.Type == checkHTTP && k.Method != "" && !slices.Contains(methods, strings.ToUpper(k.Method)) {
		k.wrong(k.at.Attr("method"), "unknown HTTP method", fmt.Sprintf("%q", k.Method), cmp.Or(diagnostic.DidYouMean(k.Method, methods), "write GET or the like"))
	}
}
