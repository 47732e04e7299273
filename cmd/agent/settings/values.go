package settings

import (
	"fmt"
	"strconv"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

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

// reasons says why settings have no effect that users rely on for their safety.
var reasons = map[string]string{
	"acl": "there are no ACLs; the port requires one token",
	"tls": "the port speaks plain HTTP, to programs of this machine only",
}

func (r *reader) unheed(name string, at hcl.Range) {
	if !r.told[name] {
		r.told[name] = true
		r.unheeded = append(r.unheeded, Unheeded{Name: name, At: jobspec.RangeOf(at), Why: reasons[name]})
	}
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

func (r *reader) port(m member) (int, bool) {
	val, ok := r.value(m, cty.Number, "a number")
	if !ok {
		return 0, false
	}
	var n int
	if gocty.FromCtyValue(val, &n) != nil || n < 1 || n > maxPort {
		r.refuse(m.expr.Range(), fmt.Sprintf("%q is out of range", m.name), "", fmt.Sprintf("write a whole number from 1 to %d", maxPort))
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
