package jobtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec"
	"taskrun/jobspec/decode"
)

func (r *reader) run(f *runForm) *Run {
	run := &Run{
		Name: f.Name, Mode: r.mode(f), Until: r.until(f), Timeout: f.Timeout,
		Snapshot: f.Snapshot, Range: f.Block.Header, file: r.file,
	}
	if f.Block.Has("timeout") && f.Timeout <= 0 {
		r.refuse(f.Block.At("timeout"), `"timeout" must be more than 0`, fmt.Sprintf("it is %v", f.Timeout), `write one such as "5m"`)
	}
	if f.Block.Has("snapshot") {
		r.checkSnapshot(f)
	}
	run.Variables = r.variables(f.Variables)
	for name, v := range r.file.Variables {
		if _, own := run.Variables[name]; !own {
			run.Variables[name] = v
		}
	}
	if f.ExpectFailures != nil {
		run.ExpectFailures = r.references(f.ExpectFailures)
	}
	r.scripts(run, f)
	for _, order := range f.Orders {
		run.Orders = append(run.Orders, r.orders(order, run, f)...)
	}
	slices.SortStableFunc(run.Orders, func(a, b *Order) int { return cmp.Compare(a.At, b.At) })
	for _, e := range f.Execs {
		r.exec(run, e)
	}
	for _, a := range f.Asserts {
		run.Asserts = append(run.Asserts, r.assert(a))
	}
	return run
}

func (r *reader) mode(f *runForm) Mode {
	switch mode := Mode(f.Mode); {
	case !f.Block.Has("mode"):
		return Virtual
	case mode == Virtual, mode == Real:
		return mode
	}
	r.unknown(f.Block.At("mode"), "mode", f.Mode, []string{string(Virtual), string(Real)})
	return Virtual
}

func (r *reader) until(f *runForm) Until {
	events := []string{Ended, Running, Healthy}
	at := f.Block.At("until")
	switch after, err := time.ParseDuration(f.Until); {
	case !f.Block.Has("until"):
		return Until{Event: Ended}
	case slices.Contains(events, f.Until):
		return Until{Event: f.Until}
	case err != nil:
		r.unknown(at, "until", f.Until, append(events, `a duration such as "10m"`))
	case after <= 0:
		r.refuse(at, `"until" must be more than 0`, fmt.Sprintf("it is %v", after), `write one such as "10m"`)
	default:
		return Until{After: after}
	}
	return Until{Event: Ended}
}

// checkSnapshot refuses names that are no names of files.
func (r *reader) checkSnapshot(f *runForm) {
	ok := f.Snapshot != "" && len(f.Snapshot) <= 100 && !strings.HasPrefix(f.Snapshot, ".") && !strings.ContainsFunc(f.Snapshot, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`/\:*?"<>|`, c)
	})
	if !ok {
		r.refuse(f.Block.At("snapshot"), fmt.Sprintf("a snapshot cannot be called %q", f.Snapshot), "its name is that of a file", `write one such as "web-crash"`)
	}
}

// variables reads variables blocks.
func (r *reader) variables(blocks []*bodyForm) map[string]jobspec.VariableValue {
	values := map[string]jobspec.VariableValue{}
	for _, b := range blocks {
		attributes, diags := b.Body.JustAttributes()
		r.diags = append(r.diags, diags...)
		for _, a := range decode.InOrder(attributes) {
			if _, again := values[a.Name]; again {
				r.refuse(a.NameRange, fmt.Sprintf("variable %q is defined twice", a.Name), "", "remove one of them")
			}
			native, diags := r.scope.Native(a.Expr)
			r.diags = append(r.diags, diags...)
			if native == nil {
				continue
			}
			v, diags := r.scope.Value(native, r.scope.Root())
			r.diags = append(r.diags, diags...)
			if !diags.HasErrors() {
				values[a.Name] = jobspec.VariableValue{Value: v, At: jobspec.RangeOf(a.Expr.Range())}
			}
		}
	}
	return values
}

// scripts reads the scripts of mocked tasks, and the results of mocked checks.
func (r *reader) scripts(run *Run, f *runForm) {
	first := map[string]hcl.Range{}
	for _, t := range f.Tasks {
		if run.Mode == Real {
			r.refuse(t.Block.Header, "a real run has no mock tasks", "its tasks are started by their own drivers", `remove the block, or write mode = "virtual"`)
			continue
		}
		if before, again := first[t.Target]; again {
			r.twice(t.Block.Label, fmt.Sprintf("task %q is defined twice", t.Target), before)
		}
		first[t.Target] = t.Block.Label
		run.Tasks = append(run.Tasks, r.task(t))
	}
	type change struct {
		name  string
		after time.Duration
	}
	changes := map[change]hcl.Range{}
	for _, c := range f.Checks {
		if run.Mode == Real {
			r.refuse(c.Block.Header, "a real run has no mock checks", "they send real requests", `remove the block, or write mode = "virtual"`)
			continue
		}
		r.notNegative(c.After, c.Block.At("after"), "after")
		key := change{c.Name, c.After}
		if before, again := changes[key]; again {
			r.twice(c.Block.Label, fmt.Sprintf("check %q is defined twice for the same time", c.Name), before)
		}
		changes[key] = c.Block.Label
		c.Status = r.status(c)
		run.Checks = append(run.Checks, c)
	}
}

// statuses are the words for the status of a check.
var statuses = map[string]string{
	"success": "success", "passing": "success",
	"failure": "failure", "failing": "failure", "critical": "failure",
}

func (r *reader) status(f *Check) string {
	status, known := statuses[f.Status]
	if !known && f.Block.Has("status") {
		r.unknown(f.Block.At("status"), "status", f.Status, []string{"success", "passing", "failure", "failing", "critical"})
	}
	return status
}

func (r *reader) exec(run *Run, f *Exec) {
	i := slices.IndexFunc(run.Execs, func(o *Exec) bool { return o.Target == f.Target })
	switch {
	case run.Mode != Real:
		r.refuse(f.Block.Header, "a virtual run has no processes to run a command in", "", `write mode = "real"`)
	case f.Block.Has("command") && (len(f.Command) == 0 || f.Command[0] == ""):
		r.refuse(f.Block.At("command"), "the command is empty", "", `write one such as ["ls", "-l"]`)
	case f.Block.Has("timeout") && f.Timeout <= 0:
		r.refuse(f.Block.At("timeout"), `"timeout" must be more than 0`, fmt.Sprintf("it is %v", f.Timeout), `write one such as "30s"`)
	case i >= 0:
		r.twice(f.Block.Label, fmt.Sprintf("exec %q is defined twice", f.Target), run.Execs[i].Block.Header)
	}
	run.Execs = append(run.Execs, f)
}

// references reads a list of names.
func (r *reader) references(list hcl.Expression) (names []Reference) {
	each, diags := hcl.ExprList(list)
	if diags.HasErrors() {
		r.refuse(list.Range(), `"expect_failures" must be a list of names`, "", `write one such as ["app/server"]`)
	}
	for _, expr := range each {
		v, diags := r.scope.Strict(expr, r.scope.Root())
		if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
			r.refuse(expr.Range(), "this is not the name of a task, an allocation or a check", "", `write one such as "app/server"`)
			continue
		}
		names = append(names, Reference{v.AsString(), expr.Range()})
	}
	return names
}
