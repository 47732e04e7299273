package check

import "testing"

// An answer is one uncompressed message whose first field, if any, is the
// status.
func TestServingStatus(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body  string
		want  uint64
		fails bool
	}{
		"serving":              {"\x00\x00\x00\x00\x02\x08\x01", 1, false},
		"not serving":          {"\x00\x00\x00\x00\x02\x08\x02", 2, false},
		"a long number":        {"\x00\x00\x00\x00\x03\x08\xac\x02", 300, false},
		"unknown":              {"\x00\x00\x00\x00\x00", 0, false},
		"nothing":              {"", 0, true},
		"a part of the header": {"\x00\x00\x00\x00", 0, true},
		"compressed":           {"\x01\x00\x00\x00\x02\x08\x01", 0, true},
		"too short":            {"\x00\x00\x00\x00\x03\x08\x01", 0, true},
		"too long":             {"\x00\x00\x00\x00\x01\x08\x01", 0, true},
		"another field":        {"\x00\x00\x00\x00\x02\x10\x01", 0, true},
		"no number":            {"\x00\x00\x00\x00\x02\x08\x80", 0, true},
		"a field without one":  {"\x00\x00\x00\x00\x01\x08", 0, true},
	} {
		got, err := servingStatus([]byte(tt.body))
		if got != tt.want || (err != nil) != tt.fails {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}
