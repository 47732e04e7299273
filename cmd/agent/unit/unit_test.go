package unit

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestText(t *testing.T) {
	t.Parallel()
	u := &Unit{
		Program: "/opt/my tools/taskrun", Args: []string{"--http=127.0.0.1:4646", `--data-dir=/a "b" 100% $x <y>`},
		Log: "/Users/x/agent.log",
	}
	for _, kind := range Kinds {
		golden := filepath.Join("testdata", kind+".golden")
		got := u.Text(kind)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
	d := xml.NewDecoder(strings.NewReader(u.Text("launchd")))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
