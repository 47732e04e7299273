package port

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Dynamic ports come from Nomad's default range, min_dynamic_port to
// max_dynamic_port.
const (
	FirstDynamic = 20000
	LastDynamic  = 32000
)

// Rules say which ports jobs may have. The zero value is Nomad's default.
type Rules struct {
	First, Last int    // the range of dynamic ports; 0: FirstDynamic and LastDynamic
	Reserved    string // ports that no job gets, such as 22,8000-8100
}

// Range returns the range of dynamic ports.
func (r Rules) Range() (first, last int) {
	last = cmp.Or(r.Last, max(LastDynamic, r.First))
	return cmp.Or(r.First, min(FirstDynamic, last)), last
}

// Reserves reports whether no job may have a port.
func (r Rules) Reserves(number int) bool {
	return slices.ContainsFunc(strings.Split(r.Reserved, ","), func(span string) bool {
		from, to, isRange := strings.Cut(strings.TrimSpace(span), "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			return false
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(to); err != nil {
				return false
			}
		}
		return first <= number && number <= last
	})
}
