package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/syntax"
)

// maxTokens limits the size of a file.
const maxTokens = 100_000

// reader reads files, one after the other, into settings.
type reader struct {
	drivers  []string
	settings Settings
	unheeded []Unheeded
	told     map[string]bool // names of unheeded settings
	diags    hcl.Diagnostics
	portsAt  hcl.Range // of the last limit of dynamic ports
}

func (r *reader) refuse(at hcl.Range, summary, detail, remedy string) {
	r.diags = append(r.diags, diagnostic.Error(at, summary, detail, remedy))
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

// readPlugins keeps the plugin blocks of drivers.
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

// into reads what is in a block.
func (r *reader) into(name string, m member) {
	list, ok := m.members()
	if !ok {
		r.refuse(m.at, strconv.Quote(m.name)+" must be a block", "", "write "+m.name+" { … }")
		return
	}
	r.walk(name, list)
}

func (r *reader) unheed(name string, at hcl.Range) {
	if !r.told[name] {
		r.told[name] = true
		r.unheeded = append(r.unheeded, Unheeded{Name: name, At: jobspec.RangeOf(at), Why: reasons[name]})
	}
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
	remedy := diagnostic.DidYouMean(m.name, known)
	if remedy == "" {
		remedy = "delete it"
	}
	r.refuse(m.at, "unknown key "+strconv.Quote(m.name), detail, remedy)
}

// value evaluates a member as a type, and reports whether it has such a value.
func (r *reader) value(m member, want cty.Type, kind string) (cty.Value, bool) {
	if m.expr == nil {
		r.refuse(m.at, fmt.Sprintf("%q must be %s, not a block", m.name, kind), "", "write "+m.name+" = …")
		return cty.NilVal, false
	}
	val, diags := m.expr.Value(nil)
	if diags.HasErrors() {
		r.diags = append(r.diags, diags...)
		return cty.NilVal, false
	}
	if val.IsNull() {
		return cty.NilVal, false
	}
	converted, err := convert.Convert(val, want)
	if err != nil || !converted.IsWhollyKnown() {
		r.refuse(m.expr.Range(), fmt.Sprintf("%q must be %s", m.name, kind), "it is "+diagnostic.Describe(val), "write "+kind)
		return cty.NilVal, false
	}
	return converted, true
}

func (r *reader) text(m member) (string, bool) {
	val, ok := r.value(m, cty.String, "a string")
	if !ok {
		return "", false
	}
	return val.AsString(), true
}

func textOf(val cty.Value) (string, bool) {
	val, err := convert.Convert(val, cty.String)
	if err != nil || val.IsNull() || !val.IsKnown() {
		return "", false
	}
	return val.AsString(), true
}

func (r *reader) number(m member, least, most int) (int, bool) {
	val, ok := r.value(m, cty.Number, "a number")
	if !ok {
		return 0, false
	}
	var n int
	if gocty.FromCtyValue(val, &n) != nil || n < least || n > most {
		r.refuse(m.expr.Range(), fmt.Sprintf("%q is out of range", m.name), "", fmt.Sprintf("write a whole number from %d to %d", least, most))
		return 0, false
	}
	return n, true
}

func (r *reader) duration(m member) (time.Duration, bool) {
	text, ok := r.text(m)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		r.refuse(m.expr.Range(), fmt.Sprintf("%q must be a duration", m.name), fmt.Sprintf("it is %q", text), "write a duration such as 30s or 5m")
		return 0, false
	}
	return d, true
}

// texts returns the members of a block or an object as strings.
func (r *reader) texts(m member) map[string]string {
	list, ok := m.members()
	if !ok {
		r.refuse(m.at, strconv.Quote(m.name)+" must be a map", "", "write "+m.name+" { key = \"value\" }")
		return nil
	}
	texts := map[string]string{}
	for _, one := range list {
		if text, ok := r.text(one); ok {
			texts[one.name] = text
		}
	}
	return texts
}
