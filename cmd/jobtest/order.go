package jobtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// verbs are all orders, as a message lists them.
var verbs = []string{"stop", "restart", "signal", "update", "scale", "dispatch", "promote"}

// orders reads an at block, which has one order; scale may be for several groups.
func (r *reader) orders(f *orderForm, run *Run, of *runForm) []*Order {
	o := &Order{At: r.at(f, run, of), Range: f.Block.Header}
	given := slices.DeleteFunc(slices.Clone(verbs), func(verb string) bool { return !f.Block.Has(verb) })
	if len(given) != 1 {
		detail := "it orders nothing"
		if len(given) > 1 {
			detail = "it has " + strings.Join(given, " and ")
		}
		r.refuse(f.Block.Header, "an at block has one order", detail, "write one of "+strings.Join(verbs, ", ")+"; orders at the same time have blocks of their own")
		return nil
	}
	o.Verb = Verb(given[0])
	if f.Block.Has("target") && o.Verb != Signal {
		r.refuse(f.Block.At("target"), fmt.Sprintf(`"target" belongs to signal, not to %s`, o.Verb), "", fmt.Sprintf("write %s = %q", o.Verb, f.Target))
	}
	o.target = f.Block.At(given[0])
	switch at := o.target; o.Verb {
	case Stop:
		o.Target = value(f.Stop)
	case Restart:
		o.Target = value(f.Restart)
	case Signal:
		o.Signal, o.Target, o.target = value(f.Signal), f.Target, f.Block.At("target")
		if name := strings.TrimPrefix(o.Signal, "SIG"); name == "" || strings.ToUpper(name) != name {
			r.refuse(at, fmt.Sprintf("%q is not a signal", o.Signal), "", `write signal = "SIGHUP", and target = "GROUP/TASK" on a line of its own`)
		}
	case Update:
		o.File = r.existing(value(f.Update), at, "job file")
	case Promote:
		if f.Promote != nil && !*f.Promote {
			r.refuse(at, "promote = false orders nothing", "", "write promote = true, or remove the block")
		}
	case Dispatch:
		r.dispatch(o, f.Dispatch)
	case Scale:
		return r.scale(*o, f.Scale, at)
	}
	return []*Order{o}
}

// value returns what a pointer points to; a zero if there was none or it was
// invalid.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// at returns the time of an order.
func (r *reader) at(f *orderForm, run *Run, of *runForm) time.Duration {
	at, err := time.ParseDuration(f.At)
	switch end := run.Until.After; {
	case err != nil:
		r.refuse(f.Block.Label, fmt.Sprintf("%q is not a duration", f.At), "", `write one such as at "45s" { … }`)
	case at < 0:
		r.refuse(f.Block.Label, "this is before the run begins", fmt.Sprintf("it is %v", at), `write one such as at "45s" { … }`)
	case end > 0 && at > end:
		r.refuse(f.Block.Label, "this is after the end of the run", fmt.Sprintf("it ends at %v", end), fmt.Sprintf("write until = %q or more", f.At))
	case of.Timeout > 0 && at > of.Timeout:
		r.refuse(f.Block.Label, "this is after the timeout of the run", fmt.Sprintf("it is %v", of.Timeout), fmt.Sprintf("write timeout = %q or more", f.At))
	}
	return at
}

func (r *reader) scale(o Order, counts map[string]int, at hcl.Range) (orders []*Order) {
	if len(counts) == 0 {
		r.refuse(at, "this scales no group", "", "write scale = { GROUP = 3 }")
	}
	for _, group := range slices.Sorted(maps.Keys(counts)) {
		each := o
		each.Target, each.Count = group, counts[group]
		if each.Count < 0 {
			r.refuse(at, fmt.Sprintf("a group cannot have %d allocations", each.Count), "", "write 0 or more")
		}
		orders = append(orders, &each)
	}
	return orders
}

// dispatch reads an object with a payload and metadata.
func (r *reader) dispatch(o *Order, expr hcl.Expression) {
	const remedy = `write dispatch = { payload = "…", meta = { KEY = "VALUE" } }, or {} for neither`
	native, diags := r.scope.Native(expr)
	r.diags = append(r.diags, diags...)
	if native == nil {
		return
	}
	v, diags := r.scope.Value(native, r.scope.Root())
	r.diags = append(r.diags, diags...)
	if diags.HasErrors() {
		return
	}
	if v.IsNull() || !v.Type().IsObjectType() {
		r.refuse(expr.Range(), `"dispatch" must be an object`, "", remedy)
		return
	}
	values := v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		wanted := map[string]cty.Type{"payload": cty.String, "meta": cty.Map(cty.String)}[name]
		if wanted == cty.NilType {
			r.refuse(expr.Range(), fmt.Sprintf("unknown attribute %q in dispatch", name), "it may hold meta, payload", remedy)
			continue
		}
		v, err := convert.Convert(values[name], wanted)
		if err != nil || v.IsNull() || !v.IsWhollyKnown() {
			r.refuse(expr.Range(), fmt.Sprintf("%q of dispatch must be %s", name, map[string]string{"payload": "a string", "meta": "a map of strings"}[name]), "", remedy)
			continue
		}
		if name == "payload" {
			o.Payload = []byte(v.AsString())
			continue
		}
		o.Meta = map[string]string{}
		meta := v.AsValueMap()
		for _, key := range slices.Sorted(maps.Keys(meta)) {
			if meta[key].IsNull() {
				r.refuse(expr.Range(), fmt.Sprintf("%q of dispatch has no value", cmp.Or(key, "a key")), "", remedy)
				continue
			}
			o.Meta[key] = meta[key].AsString()
		}
	}
}
