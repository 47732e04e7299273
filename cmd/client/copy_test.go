package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/hashicorp/nomad/api"
)

// A machine runs the commands of a task in a directory, except those it has answers for.
type machine struct {
	dir     string
	code    int    // of the first command; 0: the command runs
	stderr  string // likewise
	ordered []string
}

func (m *machine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/v1/node/") {
		http.NotFound(w, r)
		return
	}
	conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	var words []string
	_ = json.Unmarshal([]byte(r.URL.Query().Get("command")), &words)
	m.ordered = append(m.ordered, words[0])
	stdin, _ := input(conn)
	c := exec.Command(words[0], words[1:]...)
	var stdout, stderr bytes.Buffer
	c.Dir, c.Stdin, c.Stdout, c.Stderr = m.dir, strings.NewReader(stdin), &stdout, &stderr
	_ = c.Run()
	code := c.ProcessState.ExitCode()
	if len(m.ordered) == 1 && m.code+len(m.stderr) > 0 {
		code, stderr = m.code, *bytes.NewBufferString(m.stderr)
	}
	send(conn, api.ExecStreamingOutput{Stdout: &api.ExecStreamingIOOperation{Data: stdout.Bytes()}}, api.ExecStreamingOutput{Stderr: &api.ExecStreamingIOOperation{Data: stderr.Bytes()}},
		api.ExecStreamingOutput{Exited: true, Result: &api.ExecStreamingExitResult{ExitCode: code}})
}

// on returns a task on a machine with the files dir/a, dir/-b and link, which is dangling.
func (m *machine) on(t *testing.T) *Task {
	t.Helper()
	m.dir = t.TempDir()
	for _, err := range []error{
		os.Mkdir(filepath.Join(m.dir, "dir"), 0o700), os.WriteFile(filepath.Join(m.dir, "dir", "a"), []byte("A"), 0o600),
		os.WriteFile(filepath.Join(m.dir, "dir", "-b"), []byte("B"), 0o600), os.Symlink("none", filepath.Join(m.dir, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	remote, err := Remote(Cluster{Address: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return onTask(remote)
}

// has returns the content of a file; "" if there is none.
func (m *machine) has(name string) string {
	text, _ := os.ReadFile(filepath.Join(m.dir, name))
	return string(text)
}

func TestLook(t *testing.T) {
	t.Parallel()
	m := &machine{}
	task := m.on(t)
	for name, want := range map[string]Place{"dir": Directory, "dir/a": File, "link": File, "dir/c": Nothing, "-c": Nothing, "none/c": Nowhere, m.dir: Directory, "none/": Nothing} {
		if got, err := task.Look(t.Context(), name); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %s", name, got, err, want)
		}
	}
}

// A command that fails says why, unless the task has no such command or tar was only
// told of a file that grows.
func TestCopyFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code   int
		stderr string
		want   string
	}{
		{1, "", "sh in the task ended with exit code 1"},
		{2, " first\nsecond\n", "first"},
		{126, "x", ErrNoTool.Error()},
		{127, "x", ErrNoTool.Error()},
		{1, "tar: a: file changed as we read it\n", ""},
		{1, "tar: a: file changed as we read it\ntar: b: gone", "tar: a: file changed as we read it"},
		{2, "tar: a: file changed as we read it", "tar: a: file changed as we read it"},
		{128, strings.Repeat("x", 3<<10) + "end", strings.Repeat("x", 2<<10-3) + "end"},
	} {
		m := &machine{code: tt.code, stderr: tt.stderr}
		_, err := m.on(t).Look(t.Context(), "dir")
		if err == nil && tt.want != "" || err != nil && err.Error() != tt.want {
			t.Errorf("exit code %d, %.50q: %v, want %.50q", tt.code, tt.stderr, err, tt.want)
		}
	}
	if _, err := onTask(&Server{API: (&nomad{code: 500}).server(t, "").API}).Look(t.Context(), "x"); err == nil {
		t.Error("the server refuses, and that is no error")
	}
}

// Files of one task can be copied to others: beside existing files, in their place,
// or merged with them.
func TestCopy(t *testing.T) {
	t.Parallel()
	from, to := &machine{}, &machine{}
	source, target := from.on(t), to.on(t)
	var dir bytes.Buffer
	if err := source.ReadTar(t.Context(), &dir, "dir", "-b"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(to.dir, "-new"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := target.WriteTar(t.Context(), &dir, "-new"); err != nil || to.has("-new/-b") != "B" {
		t.Errorf("written: %v, %q", err, to.has("-new/-b"))
	}
	packed := func(content string, done bool) *bytes.Buffer {
		staged := &machine{}
		staged.on(t)
		names := []string{"-cf", "-", "new"}
		if err := os.Rename(filepath.Join(staged.dir, content), filepath.Join(staged.dir, PutContent)); err != nil {
			t.Fatal(err)
		}
		if done {
			names = append(names, PutEnd)
			if err := os.WriteFile(filepath.Join(staged.dir, PutEnd), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := exec.Command("tar", names...)
		c.Dir = staged.dir
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return bytes.NewBuffer(out)
	}
	if err := target.Put(t.Context(), packed("dir/a", true), "dir/-b", ".tmp", false); err != nil || to.has("dir/-b") != "A" {
		t.Errorf("replaced: %v, %q", err, to.has("dir/-b"))
	}
	if err := target.Put(t.Context(), packed("dir", true), "-new/", ".tmp", true); err != nil || to.has("-new/a") != "A" || to.has("-new/-b") != "B" {
		t.Errorf("merged: %v, %q", err, to.has("-new/a"))
	}
	to.ordered = nil
	if err := target.Put(t.Context(), packed("dir/a", false), "dir/a2", ".tmp", false); err == nil || to.has("dir/a2") != "" || strings.Join(to.ordered, " ") != "sh rm" {
		t.Errorf("a stream that breaks off: %v, %q, ordered %q", err, to.has("dir/a2"), to.ordered)
	}
	for _, name := range []string{"dir/.tmp", "-new/.tmp"} {
		if _, err := os.Stat(filepath.Join(to.dir, name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	none := &machine{code: 127, stderr: "sh: not found"}
	if err := none.on(t).Put(t.Context(), packed("dir/a", true), "x", ".tmp", false); !errors.Is(err, ErrNoTool) || len(none.ordered) != 1 {
		t.Errorf("a task without tools: %v, ordered %q", err, none.ordered)
	}
}
