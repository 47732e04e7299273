package jobspec_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/jobspec"
)

const aJob = `job "x" {}`

func TestReadGivesTextAndName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "web.nomad.hcl")
	if err := os.WriteFile(path, []byte(aJob), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(aJob))
	}))
	defer server.Close()
	for name, arg := range map[string]string{
		path:                    path,
		link:                    link,
		"stdin":                 "-",
		server.URL + "/job.hcl": server.URL + "/job.hcl",
	} {
		src, err := jobspec.Read(t.Context(), arg, strings.NewReader(aJob))
		if err != nil {
			t.Errorf("Read(%q): %v", arg, err)
			continue
		}
		if src.Name != name || string(src.Text) != aJob {
			t.Errorf("Read(%q) = %q, %q", arg, src.Name, src.Text)
		}
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("web.nomad.hcl", aJob)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for name, test := range map[string]struct{ arg, want, remedy string }{
		"no argument":     {"", "no job file is given", "name a file"},
		"missing":         {filepath.Join(dir, "wbe.nomad.hcl"), "there is no such file", "web.nomad.hcl"},
		"directory":       {dir, "it is a directory", "web.nomad.hcl"},
		"empty":           {write("empty", " \n\t\n"), "it is empty", `job "name"`},
		"compressed":      {write("job.gz", "\x1f\x8b\x08\x00"), "it is compressed", "unpack"},
		"UTF-16":          {write("utf16", "\xff\xfej\x00"), "it is UTF-16", "UTF-8"},
		"a program":       {write("program", "\x7fELF\x02"), "it is a binary file", ""},
		"another scheme":  {"s3://bucket/job.hcl", "only files, stdin and http(s) URLs", "fetch it"},
		"a forced getter": {"git::https://example.com/x", "only files, stdin and http(s) URLs", "fetch it"},
		"not on the web":  {server.URL + "/x", "the server answered 404", ""},
		"empty stdin":     {"-", "it is empty", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := jobspec.Read(t.Context(), test.arg, strings.NewReader(""))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			var diagnostic jobspec.Diagnostic
			if errors.As(err, &diagnostic); !strings.Contains(diagnostic.Remedy, test.remedy) {
				t.Errorf("the remedy is %q, want %q", diagnostic.Remedy, test.remedy)
			}
			if test.arg != "" && test.arg != "-" && strings.Count(err.Error(), test.arg) != 1 {
				t.Errorf("%q does not name %q once", err, test.arg)
			}
		})
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-block }))
	defer server.Close()
	defer close(block)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := jobspec.Read(ctx, server.URL, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// endless is a reader without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	_, err := jobspec.Read(t.Context(), "-", endless{})
	if err == nil || !strings.Contains(err.Error(), "larger than 128 MiB") {
		t.Errorf("got %v", err)
	}
}
