package answer

import (
	"fmt"
	"strings"
)

// RolloutStep is a step of a rollout: its changes of allocations of a group, by
// index.
type RolloutStep struct {
	Group string `json:"group"`
	// After is the condition of the step: healthy allocations of the previous step,
	// or the promotion of canaries. It may be empty.
	After   string `json:"after,omitempty"`
	Create  []int  `json:"create,omitempty"`
	Canary  []int  `json:"canary,omitempty"`
	Promote []int  `json:"promote,omitempty"`
	Replace []int  `json:"replace,omitempty"`
	InPlace []int  `json:"in_place,omitempty"`
	Destroy []int  `json:"destroy,omitempty"`
}

// Values of After.
const (
	AfterHealthy   = "healthy"
	AfterPromotion = "promotion"
)

// writeRollout writes the steps of all groups in order, a line each. Replacements
// in several steps are one line.
func writeRollout(line func(depth int, kind, text string), job string, steps []RolloutStep) {
	if len(steps) == 0 {
		return
	}
	line(0, "", "rollout, each step once the one before is healthy")
	group, replaced, size := "", []int(nil), 0
	flush := func() {
		text := fmt.Sprintf("replace %s[%s]", group, ranges(replaced))
		if len(replaced) > size {
			text += fmt.Sprintf(", %d at a time", size)
		}
		if len(replaced) > 0 {
			line(2, "", text)
		}
		replaced, size = nil, 0
	}
	for _, s := range steps {
		if s.Group != group {
			flush()
			group = s.Group
			line(1, "", "group "+group)
		}
		promote := "promote"
		if s.After == AfterPromotion {
			promote = "with \"taskrun promote " + job + "\": promote"
		}
		for _, do := range []struct {
			what   string
			allocs []int
		}{
			{promote, s.Promote},
			{"create", s.Create},
			{"start canary", s.Canary},
			{"change in place", s.InPlace},
			{"destroy", s.Destroy},
		} {
			if len(do.allocs) > 0 {
				flush()
				line(2, "", fmt.Sprintf("%s %s[%s]", do.what, group, ranges(do.allocs)))
			}
		}
		replaced, size = append(replaced, s.Replace...), max(size, len(s.Replace))
	}
	flush()
}

// ranges formats ascending numbers as 0-2,5.
func ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); i++ {
		begin := numbers[i]
		for i+1 < len(numbers) && numbers[i+1] == numbers[i]+1 {
			i++
		}
		part := fmt.Sprint(begin)
		if numbers[i] > begin {
			part = fmt.Sprintf("%d-%d", begin, numbers[i])
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}
