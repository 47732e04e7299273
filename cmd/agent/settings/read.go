package settings

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/syntax"
)

// maxTokens limits the size of a file.
const maxTokens = 100_000

// Read reads configuration files. Of a setting in several files the last one
// counts; maps are merged. Drivers are those that have options. The settings are
// usable if the diagnostics have no errors.
func Read(files []File, drivers []string) (Settings, []Unheeded, jobspec.Diagnostics) {
	r := &reader{drivers: drivers, told: map[string]bool{}}
	for _, f := range files {
		r.read(f)
	}
	r.checkAddress()
	r.checkPorts()
	return r.settings, r.unheeded, jobspec.DiagnosticsOf(r.diags, nil)
}

func (r *reader) read(f File) {
	if syntax.IsJSON(f.Text) {
		if diags := syntax.CheckNesting(f.Text, f.Name, maxTokens); diags.HasErrors() {
			r.diags = append(r.diags, diags...)
			return
		}
	}
	body, diags := syntax.Parse(f.Text, f.Name)
	if diags.HasErrors() {
		r.diags = append(r.diags, diags...)
		return
	}
	r.readPlugins(f, body)
	list, diags := membersOf(body)
	r.diags = append(r.diags, diags...)
	r.walk("", list)
}

func (r *reader) readPlugins(f File, body hcl.Body) {
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: pluginKey, LabelNames: []string{"name"}}}})
	for _, b := range content.Blocks {
		if !slices.Contains(r.drivers, b.Labels[0]) {
			r.unheed(pluginKey+"."+b.Labels[0], b.DefRange)
			continue
		}
		r.settings.Plugins = append(r.settings.Plugins, Plugin{File: f.Name, Block: b})
	}
}

// walk reads members whose names are below a path.
func (r *reader) walk(path string, list []member) {
	for _, m := range list {
		name := strings.TrimPrefix(path+"."+m.name, ".")
		set, known := table[name]
		switch {
		case known && set != nil:
			set(r, m)
		case known:
			r.into(name, m)
		case name == pluginKey: // see readPlugins
		case slices.Contains(unheededBelow[path], m.name):
			r.unheed(name, m.at)
		default:
			r.unknown(path, m)
		}
	}
}

func (r *reader) into(name string, m member) {
	list, ok := m.members()
	if !ok {
		r.refuse(m.at, strconv.Quote(m.name)+" must be a block", "", "write "+m.name+" { … }")
		return
	}
	r.walk(name, list)
}

func (r *reader) unknown(path string, m member) {
	known := slices.Clone(unheededBelow[path])
	for name := range table {
		if below, ok := strings.CutPrefix(name, path+"."); path == "" || ok {
			if path == "" {
				below = name
			}
			if !strings.Contains(below, ".") {
				known = append(known, below)
			}
		}
	}
	detail := "the configuration of a Nomad agent has no such key"
	if path != "" {
		detail = fmt.Sprintf("the block %s of a Nomad agent's configuration has no such key", path)
	}
	r.refuse(m.at, "unknown key "+strconv.Quote(m.name), detail, cmp.Or(diagnostic.DidYouMean(m.name, known), "delete it"))
}

// checkAddress refuses addresses that other machines could reach.
func (r *reader) checkAddress() {
	p := cmp.Or(r.settings.http, r.settings.bind)
	if p.text == "" {
		return
	}
	at, err := netip.ParseAddr(r.settings.host())
	switch {
	case err != nil:
		r.refuse(p.at, "invalid address "+strconv.Quote(p.text), "the agent listens at one IP address", "write "+defaultAddress)
	case !at.IsLoopback():
		r.refuse(p.at, "the agent cannot listen at "+p.text, "other machines could start processes here", "write "+defaultAddress+", or put a proxy with authentication in front of it")
	}
}

// checkPorts checks the range of dynamic ports.
func (r *reader) checkPorts() {
	c := &r.settings.Client
	if c.MinPort > 0 && c.MaxPort > 0 && c.MinPort > c.MaxPort {
		r.diags = append(r.diags, diagnostic.Error(r.portsAt, "the range of dynamic ports is empty",
			"min_dynamic_port is greater than max_dynamic_port", "swap the two"))
	}
}
