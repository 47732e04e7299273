package decode

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/diagnostic"
)

var (
	durationType    = reflect.TypeFor[time.Duration]()
	durationPointer = reflect.TypeFor[*time.Duration]()
)

// assignDuration stores a duration: a string in Go's syntax, such as "1h30m",
// or a whole number of nanoseconds.
func assignDuration(target reflect.Value, v cty.Value) *mismatch {
	m := &mismatch{wanted: "a duration", value: v}
	switch {
	case v.IsNull():
		return m
	case v.Type() == cty.String:
		duration, err := time.ParseDuration(v.AsString())
		if err != nil {
			m.reason, m.remedy = explainDuration(v.AsString())
			return m
		}
		target.SetInt(int64(duration))
		return nil
	case v.Type() == cty.Number:
		if m.reason = assignInteger(target, v.AsBigFloat()); m.reason != "" {
			return m
		}
		return nil
	default:
		return m
	}
}

// explainDuration returns why a text is not a duration, and the remedy.
func explainDuration(text string) (reason, remedy string) {
	if isNumber(text) {
		return "it has no unit", fmt.Sprintf(`write "%ss" for seconds; the units are ns, us, ms, s, m and h`, text)
	}
	hours := map[string]float64{"d": 24, "day": 24, "days": 24, "w": 7 * 24}
	number := strings.TrimRight(text, "daysw ")
	if perUnit, ok := hours[strings.TrimSpace(text[len(number):])]; ok && isNumber(number) {
		n, _ := strconv.ParseFloat(number, 64)
		return "the longest unit is h", fmt.Sprintf(`write "%sh"`, strconv.FormatFloat(n*perUnit, 'f', -1, 64))
	}
	return "it does not read as one", `write a number and a unit, such as "30s" or "1h30m"`
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// warnOfNanoseconds warns of a number without a unit that was meant as seconds:
// Nomad reads nanoseconds.
func (d *Decoder) warnOfNanoseconds(name string, expr hclsyntax.Expression, v cty.Value) {
	if v.IsNull() || v.Type() != cty.Number {
		return
	}
	n, _ := v.AsBigFloat().Int64()
	if n == 0 || time.Duration(n).Abs() >= time.Millisecond {
		return
	}
	d.report(diagnostic.Warning(expr.Range(), fmt.Sprintf("%q is %d nanoseconds", name, n),
		"a duration without a unit counts nanoseconds", fmt.Sprintf(`write "%ds" for seconds`, n)))
}
