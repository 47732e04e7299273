package jobtest

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/decode"
)

// short are the names that tests may use for longer ones.
var short = map[string]string{"stdout": "stdout_string", "stderr": "stderr_string"}

// limits of numbers: a process has no other exit codes and signals.
var limits = map[string]int{"exit_code": 255, "exit_signal": 64}

// script returns the options that are set.
func (r *reader) script(f *scriptForm) cty.Value {
	return cty.ObjectVal(r.options(reflect.ValueOf(f).Elem(), f.Block))
}

func (r *reader) options(form reflect.Value, block decode.Block) map[string]cty.Value {
	set := map[string]cty.Value{}
	for _, field := range reflect.VisibleFields(form.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("hcl"), ",")
		if field.Type.Kind() != reflect.Pointer || name == "" || form.FieldByIndex(field.Index).IsNil() {
			continue
		}
		at := block.At(name)
		if long := short[name]; long != "" {
			if block.Has(long) {
				r.refuse(at, fmt.Sprintf("%q and %q mean the same", name, long), "", "remove one of them")
			}
			name = long
		}
		switch v := form.FieldByIndex(field.Index).Interface().(type) {
		case *time.Duration:
			r.notNegative(*v, at, name)
			set[name] = cty.StringVal(v.String())
		case *int:
			r.within(*v, at, name)
			set[name] = cty.NumberIntVal(int64(*v))
		case *bool:
			set[name] = cty.BoolVal(*v)
		case *string:
			set[name] = cty.StringVal(*v)
		case *commandForm:
			set[name] = cty.ObjectVal(r.options(reflect.ValueOf(v).Elem(), v.Block))
		}
	}
	return set
}

func (r *reader) within(n int, at hcl.Range, name string) {
	most, limited := limits[name]
	if !limited {
		most = math.MaxInt32
	}
	if n < 0 || n > most {
		r.refuse(at, fmt.Sprintf("invalid %s", name), fmt.Sprintf("%d is not between 0 and %d", n, most), "")
	}
}

// task reads how a mock plays a task.
func (r *reader) task(f *taskForm) *Task {
	t := &Task{Target: f.Target, Script: r.script(&f.scriptForm), Attempts: map[int]cty.Value{}, label: f.Block.Label}
	for _, a := range f.Attempts {
		n, err := strconv.Atoi(a.Number)
		switch {
		case err != nil || n < 1:
			r.refuse(a.Block.Label, fmt.Sprintf("attempt %q is not a number", a.Number), "the second start of a task is its attempt 2", `write attempt "2" { … }`)
			continue
		case t.Attempts[n] != cty.NilVal:
			r.refuse(a.Block.Label, fmt.Sprintf("attempt %d is defined twice", n), "", "remove one of them")
		}
		t.Attempts[n] = r.script(&a.scriptForm)
	}
	return t
}
