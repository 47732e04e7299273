package recording

import (
	"encoding/json"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// record has a value of each kind that a recording has as an array.
type record struct {
	C *Command
	A *AllocLine
	D *Deployment
	F *File
}

// A written recording can be read again.
func TestArrays(t *testing.T) {
	t.Parallel()
	all := record{
		&Command{"job status", 1, "out", "err"}, &AllocLine{"j.g[0]", "running", "run", 2},
		&Deployment{"running", "waits", 3, map[string]DeploymentGroup{"g": {1, 2, 3, 4, 5, true, false}}}, &File{"alloc/x", "-rw-r--r--", 6, 7, 8},
	}
	const want = `{"C":["job status",1,"out","err"],"A":["j.g[0]","running","run",2],` +
		`"D":["running","waits",3,{"g":[1,2,3,4,5,true,false]}],"F":["alloc/x","-rw-r--r--",6,7,8]}`
	text, err := json.Marshal(all)
	if err != nil || string(text) != want {
		t.Errorf("it is written as %s, %v", text, err)
	}
	var got record
	if err := json.Unmarshal([]byte(want), &got); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		`{"C": {}}`:                    "json: cannot unmarshal object into Go struct field record.C of type []json.RawMessage",
		`{"A": ["j.g[0]", "running"]}`: `["j.g[0]", "running"]: 2 values instead of 4`,
		`{"F": ["x", "-", 1, 2, "3"]}`: "json: cannot unmarshal string into Go struct field record.F of type int64",
	} {
		if err := json.Unmarshal([]byte(text), &got); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestMode(t *testing.T) {
	t.Parallel()
	for want, mode := range map[string]fs.FileMode{
		"-rw-r-----": 0o640, "drwxr-xr-x": 0o755 | fs.ModeDir, "drwxrwxrwt": 0o777 | fs.ModeDir | fs.ModeSticky,
		"prw-------": 0o600 | fs.ModeNamedPipe, "lrwxrwxrwx": 0o777 | fs.ModeSymlink, "srwx------": 0o700 | fs.ModeSocket,
	} {
		if got := Mode(mode); got != want {
			t.Errorf("%v: %q, want %q", mode, got, want)
		}
	}
}

func TestPartsOfNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][3]any{
		"web.app[2]":            {"web", "app", 2},
		"a.b.app[0]":            {"a.b", "app", 0},
		"app[1]":                {"app", "app", 1},
		"web/dispatch-1.app[3]": {"web", "dispatch-1/app", 3},
	} {
		job, group, index := parts(name)
		if got := [3]any{job, group, index}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
