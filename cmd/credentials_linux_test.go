package cmd

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestCredentialsOfArtifactsAreSeenNowhere runs a job whose artifacts have
// passwords and tokens, from a server that refuses them, reads the arguments of
// all processes meanwhile, and searches everything that the run shows and
// keeps.
func TestCredentialsOfArtifactsAreSeenNowhere(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	taskrun, err := program()
	if err != nil {
		t.Fatal(err)
	}
	var helpers, asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, name := range files {
			text, _ := os.ReadFile(name)
			if bytes.Contains(text, []byte("remote-http")) && bytes.Contains(text, []byte(r.Host)) {
				helpers.Add(1)
			}
			if bytes.Contains(text, []byte("SECRET")) && bytes.Contains(text, []byte(r.Host)) {
				t.Errorf("everybody can see %q", text)
			}
		}
		if _, password, ok := r.BasicAuth(); ok && strings.Contains(password, "SECRET") {
			asked.Add(1)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	dir := t.TempDir()
	var artifacts string
	for _, source := range []string{
		"git::http://me:SECRETpassword@" + host + "/repository.git", "git::http://SECRETtoken@" + host + "/repository.git",
		"http://" + host + "/x.tgz?signature=SECRETquery", "http://SECRETtoken@" + host + "/file", "git::http://" + host + "/r.git?token=SECRETquery",
	} {
		artifacts += fmt.Sprintf("artifact {\n source = %q\n}\n", source)
	}
	job := fmt.Sprintf(`job "secretive" {
  type = "batch"
  group "g" {
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/true"
      }
      %s
    }
  }
}`, artifacts)
	file := filepath.Join(dir, "job.nomad.hcl")
	if err := os.WriteFile(file, []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, output := range []string{"plain", "json"} {
		data := filepath.Join(dir, output)
		run := exec.CommandContext(t.Context(), taskrun, "up", "--output", output, "--data-dir", data, file)
		run.Env = append(os.Environ(), "HOME="+dir, "XDG_RUNTIME_DIR="+dir, "no_proxy=127.0.0.1")
		said, err := run.CombinedOutput()
		if code := run.ProcessState.ExitCode(); code != 1 {
			t.Errorf("exit code %d, %v: %s", code, err, said)
		}
		if bytes.Contains(said, []byte("SECRET")) || bytes.Count(said, []byte("xxxxx")) < 5 {
			t.Errorf("%s shows: %s", output, said)
		}
		kept := 0
		err = filepath.WalkDir(data, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			kept++
			text, err := os.ReadFile(path)
			if bytes.Contains(text, []byte("SECRET")) {
				t.Errorf("%s keeps %q", path, text)
			}
			return err
		})
		if err != nil || kept == 0 {
			t.Errorf("%d files, %v", kept, err)
		}
	}
	if helpers.Load() == 0 || asked.Load() == 0 {
		t.Errorf("saw %d processes of git, and %d passwords", helpers.Load(), asked.Load())
	}
}
