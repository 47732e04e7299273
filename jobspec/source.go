package jobspec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"taskrun/jobspec/diagnostic"
)

const (
	// maxSource limits the text that Read accepts, in bytes. The API's JSON of
	// ten thousand tasks is half of that.
	maxSource = 128 << 20
	// maxWait limits the time for a web server to send a file.
	maxWait = time.Minute
)

// Source is the text of a job file and its name in diagnostics.
type Source struct {
	Name string
	Text []byte
}

// Read reads a job file: a path, "-" for stdin, or an http or https URL. An error
// that the user can fix is a Diagnostic with a Remedy.
func Read(ctx context.Context, arg string, stdin io.Reader) (Source, error) {
	src := Source{Name: arg}
	var err error
	switch scheme, _, hasScheme := strings.Cut(arg, "://"); {
	case arg == "":
		return src, Diagnostic{Summary: "no job file is given", Remedy: "name a file, or - for stdin"}
	case arg == "-":
		src.Name = "stdin"
		src.Text, err = readAll(stdin)
	case scheme == "http" && hasScheme, scheme == "https" && hasScheme:
		src.Text, err = download(ctx, arg)
	case hasScheme, strings.Contains(arg, "::"):
		return src, Diagnostic{
			Summary: fmt.Sprintf("cannot read job file %q: only files, stdin and http(s) URLs can be read", arg),
			Remedy:  "fetch it first, then name the file",
		}
	default:
		src.Text, err = readPath(arg)
	}
	if err == nil {
		err = unreadable(src.Text)
	}
	if known, ok := errors.AsType[Diagnostic](err); ok {
		known.Summary = fmt.Sprintf("cannot read job file %q: %s", src.Name, known.Summary)
		return src, known
	}
	if err != nil {
		return src, fmt.Errorf("cannot read job file %q: %w", src.Name, err)
	}
	return src, nil
}

// readAll reads up to maxSource bytes.
func readAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSource+1))
	if err == nil && len(text) > maxSource {
		err = Diagnostic{Summary: fmt.Sprintf("it is larger than %d MiB", maxSource>>20)}
	}
	return text, err
}

func readPath(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Diagnostic{Summary: "there is no such file", Remedy: diagnostic.SimilarFile(path, path)}
	}
	if err != nil {
		return nil, diagnostic.Bare(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, Diagnostic{Summary: "it is a directory", Remedy: jobFileIn(path)}
	}
	text, err := readAll(f)
	return text, diagnostic.Bare(err)
}

// jobFileIn returns a remedy that names a job file in a directory, or "".
func jobFileIn(dir string) string {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasSuffix(name, ".nomad.hcl") || strings.HasSuffix(name, ".nomad") {
			return fmt.Sprintf("name the file in it, such as %q", filepath.Join(dir, name))
		}
	}
	return "name a file in it"
}

func download(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, errors.Unwrap(err) // the outer error repeats the URL
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %s", response.Status)
	}
	return readAll(response.Body)
}

// unreadable returns a Diagnostic for a text that cannot be a job file.
func unreadable(text []byte) error {
	switch {
	case isBlank(string(text)):
		return Diagnostic{Summary: "it is empty", Remedy: `write job "name" { … }`}
	case bytes.HasPrefix(text, []byte("\x1f\x8b")), bytes.HasPrefix(text, []byte("PK\x03\x04")),
		bytes.HasPrefix(text, []byte("BZh")), bytes.HasPrefix(text, []byte("\xfd7zXZ")):
		return Diagnostic{Summary: "it is compressed", Remedy: "unpack it first, then pass it on as -"}
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		return Diagnostic{Summary: "it is UTF-16", Remedy: "save it as UTF-8"}
	case bytes.HasPrefix(text, []byte("\x7fELF")), bytes.IndexByte(text[:min(len(text), 512)], 0) >= 0:
		return Diagnostic{Summary: "it is a binary file"}
	}
	return nil
}

// isBlank reports whether text contains only white space.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }
