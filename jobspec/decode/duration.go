package decode

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

var (
	durationType    = reflect.TypeFor[time.Duration]()
	durationPointer = reflect.TypeFor[*time.Duration]()
)

// assignDuration stores a duration: a string in Go's syntax, such as "1h30m",
// or a whole number of nanoseconds.
func assignDuration(target reflect.Value, v cty.Value) (string, error) {
	const wanted = "a duration"
	if v.IsNull() {
		return wanted, errNull
	}
	switch v.Type() {
	case cty.String:
		duration, err := time.ParseDuration(v.AsString())
		if err != nil {
			return wanted, durationError(v.AsString())
		}
		target.SetInt(int64(duration))
		return "", nil
	case cty.Number:
		return wanted, assignInteger(target, v.AsBigFloat())
	default:
		return wanted, errors.New("it is neither a string nor a number")
	}
}

// durationError says what is wrong with a text that is no duration.
func durationError(text string) error {
	number := strings.TrimRight(text, "dDwW ")
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return remediedError{"it has no unit", `write "` + text + `s" for seconds; units are ns, us, ms, s, m and h`}
	}
	if days, err := strconv.ParseFloat(number, 64); err == nil && number != text {
		hours := days * 24
		if strings.ContainsAny(text, "wW") {
			hours *= 7
		}
		return remediedError{"days and weeks are not units", `write "` + strconv.FormatFloat(hours, 'f', -1, 64) + `h"`}
	}
	return remediedError{"it does not read as a duration", `write a number and a unit, such as "30s" or "1h30m"`}
}

// warnOfNanoseconds warns of a number without a unit that was meant to be
// seconds: Nomad takes it for nanoseconds.
func (d *Decoder) warnOfNanoseconds(name string, expr hclsyntax.Expression, v cty.Value) {
	if v.IsNull() || v.Type() != cty.Number {
		return
	}
	n, _ := v.AsBigFloat().Int64()
	if n == 0 || time.Duration(n).Abs() >= time.Millisecond {
		return
	}
	number := strconv.FormatInt(n, 10)
	d.report(warning(expr.Range(), strconv.Quote(name)+" is "+number+" nanoseconds",
		"A duration without a unit counts nanoseconds.", `write "`+number+`s" for seconds`))
}

// A remediedError knows what to do about it.
type remediedError struct{ text, remedy string }

// Error returns what is wrong.
func (e remediedError) Error() string { return e.text }

// remedyOf returns what to do about a diagnostic, or "".
func remedyOf(err error) string {
	var r remediedError
	if errors.As(err, &r) {
		return r.remedy
	}
	return ""
}
