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

// systemd splits a command at spaces, and expands % and $.
func TestSystemdCommand(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"--name=azAZ09_./:,@+": "--name=azAZ09_./:,@+", "100%": "100%%", "$HOME": "$$HOME",
		"": `""`, "a b": `"a b"`, `\"`: `"\\\""`, "a\nb": `"a\nb"`, "[": `"["`, "`": "\"`\"", "{": `"{"`, ";": `";"`, "é": `"é"`,
	} {
		u := &Unit{Program: "/bin/taskrun", Args: []string{word}}
		_, command, _ := strings.Cut(u.Text("systemd"), "ExecStart=")
		command, _, _ = strings.Cut(command, "\n")
		if got := strings.TrimPrefix(command, "/bin/taskrun agent "); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
