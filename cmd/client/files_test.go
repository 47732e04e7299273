package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// A file that stops arriving is given up. Time in which the caller does not read
// does not count.
func TestSilentFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		body, w := io.Pipe()
		client, err := api.NewClient(&api.Config{Address: "http://cluster", HttpClient: &http.Client{
			Transport: transport(func(r *http.Request) (*http.Response, error) {
				go func() {
					_, _ = io.WriteString(w, "ab")
					<-r.Context().Done()
					w.CloseWithError(r.Context().Err())
				}()
				return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		task := &Task{Server: &Server{API: client}, Alloc: &api.AllocationListStub{ID: "1"}}
		f, err := task.Files(t.Context()).Open("f", fileInfo{&api.AllocFileInfo{Size: 3}})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		<-time.After(2 * silentTime)
		if _, err := io.ReadFull(f, make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := io.ReadAll(f); !errors.Is(err, errSilent) || !errors.Is(err, ErrBrokeOff) || time.Since(began) != silentTime {
			t.Error(err, time.Since(began))
		}
	})
}

// Modes are read as they were printed.
func TestFileModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []fs.FileMode{
		0, 0o755, fs.ModeDir | 0o700, fs.ModeDir | fs.ModeSticky | 0o777, fs.ModeSymlink | 0o777, fs.ModeNamedPipe | 0o600,
		fs.ModeDevice | fs.ModeCharDevice | 0o666, fs.ModeSocket | 0o755, fs.ModeSetuid | fs.ModeSetgid | 0o755, fs.ModeIrregular,
	} {
		if got := (fileInfo{&api.AllocFileInfo{FileMode: mode.String()}}).Mode(); got != mode {
			t.Errorf("%v, want %v", got, mode)
		}
	}
	for _, odd := range []string{"", "-", "rw-r--r--", "-rw-r--r-", "-wr-r--r--", "!rw-r--r--", "d!rwx------"} {
		if got := (fileInfo{&api.AllocFileInfo{FileMode: odd}}).Mode(); got != fs.ModeIrregular {
			t.Errorf("%q is %v", odd, got)
		}
	}
}

func TestFileInfo(t *testing.T) {
	t.Parallel()
	modified := time.Unix(7, 0)
	for mode, isDir := range map[string]bool{"drwx------": true, "-rwx------": false} {
		var info fs.FileInfo = fileInfo{&api.AllocFileInfo{Name: "x", Size: 3, FileMode: mode, ModTime: modified}}
		if info.Name() != "x" || info.Size() != 3 || !info.ModTime().Equal(modified) || info.IsDir() != isDir || info.Sys() != nil {
			t.Errorf("%s: %v", mode, fs.FormatFileInfo(info))
		}
	}
}

// The files of an allocation are those that the server lists, and only what can be files.
func TestFiles(t *testing.T) {
	t.Parallel()
	files := map[string]any{
		".":     []*api.AllocFileInfo{{Name: "local", IsDir: true, FileMode: "drwx------"}, {Name: "f", Size: 3, FileMode: "-rw-r--r--"}},
		"local": []*api.AllocFileInfo{{Name: "x", Size: 2, FileMode: "-rw-------"}},
		"odd/1": []*api.AllocFileInfo{{Name: "a/b"}}, "odd/2": []*api.AllocFileInfo{{Name: "."}}, "odd/3": []*api.AllocFileInfo{{Name: ".."}}, "odd/4": []*api.AllocFileInfo{nil},
		strings.Repeat("d/", maxDepth) + "d":   []*api.AllocFileInfo{},
		strings.Repeat("d/", maxDepth-1) + "d": []*api.AllocFileInfo{},
	}
	on := func(served map[string]any) *Files {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name := r.URL.Query().Get("path")
			switch answer, ok := served[name]; {
			case !ok && name != "." && name != "gone":
				http.Error(w, "stat /x: no such file or directory", http.StatusInternalServerError)
			case !ok:
				http.NotFound(w, r)
			case strings.HasPrefix(r.URL.Path, "/v1/client/fs/readat/"):
				_, _ = io.WriteString(w, answer.(string)+r.URL.Query().Get("limit")+r.URL.Query().Get("offset"))
			default:
				_ = json.NewEncoder(w).Encode(answer)
			}
		}))
		t.Cleanup(server.Close)
		remote, err := Remote(Cluster{Address: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		return remote.Task(&event.Alloc{ID: "11111111-2222", Job: "web", Name: "web.g[0]"}, "t").Files(t.Context())
	}
	all := on(files)
	for name, want := range map[string]string{
		"f": "3 -rw-r--r--", "local": "0 drwx------", "local/x": "2 -rw-------", "none": "file does not exist", "none/x": "file does not exist", "gone": "file does not exist",
	} {
		info, err := all.Lstat(name)
		got := ""
		if err == nil {
			got = fmt.Sprint(info.Size(), " ", info.Mode())
		} else if errors.Is(err, fs.ErrNotExist) {
			got = fs.ErrNotExist.Error()
		}
		if got != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if names, err := all.ReadDir(".", nil); err != nil || !slices.Equal(names, []string{"local", "f"}) {
		t.Errorf("names %q, %v", names, err)
	}
	for i := range 4 {
		if _, err := all.ReadDir(fmt.Sprintf("odd/%d", i+1), nil); err == nil || !strings.HasSuffix(err.Error(), fmt.Sprintf("listed a file in odd/%d with a name that no file can have", i+1)) {
			t.Errorf("odd/%d: %v", i+1, err)
		}
	}
	if _, err := all.ReadDir(strings.Repeat("d/", maxDepth)+"d", nil); err == nil || err.Error() != "directories are nested more than 256 deep" {
		t.Errorf("too deep: %v", err)
	}
	if _, err := all.ReadDir(strings.Repeat("d/", maxDepth-1)+"d", nil); err != nil {
		t.Errorf("deep: %v", err)
	}
	full := on(files)
	for i := range maxFiles - 1 {
		full.seen[strconv.Itoa(i)] = nil
	}
	for _, want := range []string{"", "there are more than 250000 files: copy them in parts"} { // there is room for one
		if _, err := full.ReadDir("local", nil); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("many files: %v, want %q", err, want)
		}
	}
	if _, err := all.Readlink("f"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a link: %v", err)
	}
	if _, err := on(nil).ReadDir("local", nil); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "the files of the allocation may have been removed: ") {
		t.Errorf("an allocation that is gone: %v", err)
	}
	// The server adds the limit and the offset, which a request must have.
	read := on(map[string]any{".": []*api.AllocFileInfo{}, "exact": "ab", "short": "a", "long": "abc"})
	for name, want := range map[string]string{
		"exact": "ab40", "short": "short ended after 3 of 4 bytes: it was truncated, or its node was lost", "long": "cannot read long to its end", "none": "file does not exist",
	} {
		got := ""
		f, err := read.Open(name, fileInfo{&api.AllocFileInfo{Size: 4}})
		if err == nil {
			var text []byte
			text, err = io.ReadAll(f)
			got = string(text)
			_ = f.Close()
		}
		if err != nil {
			if got = err.Error(); errors.Is(err, fs.ErrNotExist) {
				got = fs.ErrNotExist.Error()
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if f, err := read.Open("none", fileInfo{&api.AllocFileInfo{}}); err != nil {
		t.Errorf("an empty file: %v", err)
	} else if text, err := io.ReadAll(f); len(text) > 0 || err != nil {
		t.Errorf("an empty file: %q, %v", text, err)
	}
}
