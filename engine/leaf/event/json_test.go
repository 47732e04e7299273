package event

import (
	"reflect"
	"strings"
	"testing"
)

// Objects name a job by its ID and, outside of the default namespace, its namespace.
// Old histories have the key instead.
func TestNamespacesInJSON(t *testing.T) {
	t.Parallel()
	key := JobKey("prod", "web")
	for _, e := range []Event{
		{Alloc: &Alloc{Job: key, ID: "1"}, Task: "t", Body: TaskState{State: "running"}},
		{Body: Deployment{Job: key}},
		{Body: Version{Job: key}},
		{Body: Evaluation{Job: key}},
	} {
		text, err := e.MarshalJSON()
		if err != nil || !strings.Contains(string(text), `"job":"web","namespace":"prod"`) {
			t.Errorf("%s, %v", text, err)
		}
		for _, line := range []string{string(text), strings.Replace(string(text), `"job":"web","namespace":"prod"`, `"job":"web prod"`, 1)} {
			if got, err := Parse([]byte(line)); err != nil || !reflect.DeepEqual(got, e) {
				t.Errorf("%s: %+v, %v", line, got, err)
			}
		}
	}
}
