package jobspec_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"taskrun/jobspec"
)

// If any part of a job in the API's JSON is null or empty, the job is refused,
// or Canonicalize can be called on it.
func TestHolesInTheJSONOfTheAPI(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"005-group-all-attributes", "007-task-all-attributes", "034-connect-gateways"} {
		golden := filepath.Join("testdata/ok", name+".json.golden")
		text, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		var job map[string]any
		if err := json.Unmarshal(text, &job); err != nil {
			t.Fatal(err)
		}
		holes(job["Job"], "Job", func(path string) {
			text, err := json.Marshal(job)
			if err != nil {
				t.Fatal(err)
			}
			canonicalize(t, golden+": "+path, text)
		})
	}
}

func canonicalize(t *testing.T, name string, text []byte) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: %v", name, r)
		}
	}()
	file, _ := jobspec.Parse(jobspec.Source{Name: "x.json", Text: text}, jobspec.Options{})
	if file.Job != nil {
		file.Job.Canonicalize()
	}
}

// holes calls try with each part of a value in turn replaced by null, then by
// an empty value.
func holes(v any, path string, try func(path string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, part := range v {
			inner := path + "." + key
			for _, hole := range emptied(part) {
				v[key] = hole
				try(fmt.Sprintf("%s = %v", inner, hole))
			}
			v[key] = part
			holes(part, inner, try)
		}
	case []any:
		for i, part := range v {
			inner := fmt.Sprintf("%s[%d]", path, i)
			for _, hole := range emptied(part) {
				v[i] = hole
				try(fmt.Sprintf("%s = %v", inner, hole))
			}
			v[i] = part
			holes(part, inner, try)
		}
	}
}

func emptied(v any) []any {
	switch v.(type) {
	case nil:
		return nil
	case map[string]any:
		return []any{nil, map[string]any{}}
	case []any:
		return []any{nil, []any{}}
	default:
		return []any{nil}
	}
}
