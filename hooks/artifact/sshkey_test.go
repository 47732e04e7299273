package artifact

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o700))
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// Git runs its ssh command with a shell: the key must be one argument, wherever
// it is.
func TestSSHKey(t *testing.T) {
	t.Setenv("GIT_SSH_COMMAND", `sh -c 'echo "$#"; cat "$2"' ssh`)
	stage := openRoot(t, filepath.Join(t.TempDir(), `it's "$(echo here)"`))
	g := checkout{stage: stage, env: newGitEnv(nil)}
	must(t, g.useKey(base64.StdEncoding.EncodeToString([]byte("the key"))))
	command, ok := strings.CutPrefix(g.env.env[len(g.env.env)-1], "GIT_SSH_COMMAND=")
	out, err := exec.Command("sh", "-c", command).CombinedOutput()
	if !ok || err != nil || string(out) != "2\nthe key" {
		t.Errorf("%s writes %q, %v", command, out, err)
	}
	if info, err := stage.Stat("sshkey"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v, %v", info.Mode(), err)
	}
	if err := g.useKey("not base64!"); err == nil {
		t.Error("a key that is not base64 is used")
	}
}

// Special files stay out of the task's directory.
func TestInspectRefusesSpecialFiles(t *testing.T) {
	t.Parallel()
	stage := openRoot(t, t.TempDir())
	must(t, stage.MkdirAll("got/dir", 0o700))
	must(t, stage.WriteFile("got/file", nil, 0o600))
	if err := inspect(stage, "got"); err != nil {
		t.Error(err)
	}
	if _, err := find(stage, "file"); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Errorf("a file as directory: %v", err)
	}
	must(t, unix.Mkfifo(filepath.Join(stage.Name(), "got/dir/fifo"), 0o600))
	if err := inspect(stage, "got"); err == nil || !strings.Contains(err.Error(), "dir/fifo, which is neither file nor directory") {
		t.Errorf("a FIFO: %v", err)
	}
	if err := inspect(stage, "none"); !os.IsNotExist(err) {
		t.Errorf("nothing: %v", err)
	}
}

// The credentials are separated from a URL, or it is refused.
func TestSplitURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ clean, user, refused string }{
		"https://host/x":                 {clean: "https://host/x"},
		"https://u:p%40@host/x":          {clean: "https://host/x", user: "u p@"},
		"git@host:a%zz/x.git":            {clean: "git@host:a%zz/x.git"},
		"https://u:p%@host/x":            {refused: "the URL is invalid"},
		"https://u:a%0ahost=evil@host/x": {refused: "control character"},
		"https://host/x?token=t":         {refused: "query"},
		"ssh://u@host/x":                 {clean: "ssh://u@host/x"},
		"ssh://u:p@host/x":               {refused: "sshkey"},
		"file://u@host/x":                {refused: "user name"},
	} {
		clean, c, err := splitURL(text)
		if want.refused != "" {
			if err == nil || !strings.Contains(err.Error(), want.refused) || strings.Contains(err.Error(), "evil") {
				t.Errorf("%s: error %v, want %q", text, err, want.refused)
			}
			continue
		}
		user := ""
		if c != nil {
			user = c.user + " " + c.password
		}
		if clean != want.clean || user != want.user || err != nil {
			t.Errorf("%s: %q, %q, %v", text, clean, user, err)
		}
	}
}
