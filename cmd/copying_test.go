package cmd

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/tarball"
)

// fileServer has files like a node of a cluster.
type fileServer struct {
	lists map[string][]*api.AllocFileInfo // by directory
	texts map[string]string               // the content, whatever the size in the list
	asked []string
}

func (s *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, limit := r.URL.Query().Get("path"), r.URL.Query().Get("limit")
	s.asked = append(s.asked, strings.TrimSpace(r.URL.Path+" "+name+" "+limit))
	list, dir := s.lists[name]
	text, file := s.texts[name]
	switch {
	case dir && r.URL.Path == "/v1/client/fs/ls/12345678":
		_ = json.NewEncoder(w).Encode(list)
	case file && r.URL.Path == "/v1/client/fs/readat/12345678":
		_, _ = io.WriteString(w, text)
	default:
		http.Error(w, "open /alloc: no such file or directory", http.StatusInternalServerError)
	}
}

// pack packs a file of the server. It returns the names, sizes and modes in the stream.
func (s *fileServer) pack(t *testing.T, file string) (entries []string, sum tarball.Sum, err error) {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	remote, err := client.Remote(client.Cluster{Address: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	task := &client.Task{Server: remote, Alloc: &api.AllocationListStub{ID: "12345678"}, Name: "t"}
	var stream bytes.Buffer
	sum, err = tarball.Pack(tar.NewWriter(&stream), task.Files(t.Context()), file, "got")
	for r := tar.NewReader(&stream); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		entries = append(entries, fmt.Sprint(h.Name, " ", h.Size, " ", h.FileInfo().Mode()))
	}
	return entries, sum, err
}

func entry(name, mode string, size int64) *api.AllocFileInfo {
	return &api.AllocFileInfo{Name: name, FileMode: mode, IsDir: mode[0] == 'd', Size: size, ModTime: time.Unix(1e9, 0)}
}

// newFileServer returns a server with a directory t/local that has entries.
func newFileServer(entries ...*api.AllocFileInfo) *fileServer {
	return &fileServer{
		lists: map[string][]*api.AllocFileInfo{".": {}, "t": {entry("local", "drwxrwxrwx", 4096)}, "t/local": entries},
		texts: map[string]string{},
	}
}

// Only directories are listed and files that are not empty read.
func TestFilesOfACluster(t *testing.T) {
	t.Parallel()
	s := newFileServer(
		entry("b", "-rwxr-x---", 3), entry("d", "drwx------", 4096), entry("empty", "-rw-r--r--", 0), entry("link", "Lrwxrwxrwx", 1),
		entry("pipe", "prw-r--r--", 0), entry("removed", "-rw-r--r--", 1), entry("root", "urw-r--r--", 0), entry("tty", "Dcrw-rw-rw-", 0),
		entry("odd", "=rw-r--r--", 0), entry("short", "-rw", 0), entry("rights", "-xwr--r--r", 0),
	)
	s.lists["t/local/d"] = []*api.AllocFileInfo{entry("f", "-rw-r--r--", 2)}
	s.texts["t/local/b"], s.texts["t/local/d/f"] = "abc", "de"
	entries, sum, err := s.pack(t, "t/local")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"got/ 0 drwxrwxrwx", "got/b 3 -rwxr-x---", "got/d/ 0 drwx------", "got/d/f 2 -rw-r--r--", "got/empty 0 -rw-r--r--", "got/root 0 urw-r--r--",
	}, entries); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(tarball.Sum{
		Files: 4, Bytes: 5, Links: []string{"t/local/link"},
		Skipped: []string{"t/local/odd", "t/local/pipe", "t/local/rights", "t/local/short", "t/local/tty"},
	}, sum); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"/v1/client/fs/ls/12345678 t", "/v1/client/fs/ls/12345678 t/local",
		"/v1/client/fs/readat/12345678 t/local/b 3",
		"/v1/client/fs/ls/12345678 t/local/d", "/v1/client/fs/readat/12345678 t/local/d/f 2",
		"/v1/client/fs/readat/12345678 t/local/removed 1", "/v1/client/fs/ls/12345678 .",
	}, s.asked); diff != "" {
		t.Error(diff)
	}
}

// An invalid answer of a cluster is an error, and never becomes content.
func TestWrongFilesOfACluster(t *testing.T) {
	t.Parallel()
	file := func(size int64, text string) *fileServer {
		s := newFileServer(entry("f", "-rw-r--r--", size))
		s.texts["t/local/f"] = text
		return s
	}
	// Too many files, but each answer is short enough for a slow machine, and a pipe
	// is not copied.
	many, dirs, files := newFileServer(), make([]*api.AllocFileInfo, 250), make([]*api.AllocFileInfo, 1000)
	for i := range files {
		files[i] = entry(fmt.Sprint(i), "prw-r--r--", 0)
	}
	for i := range dirs {
		dirs[i] = entry(fmt.Sprint(i), "drwx------", 0)
		many.lists["t/local/"+dirs[i].Name] = files
	}
	many.lists["t/local"] = dirs
	deep, dir := newFileServer(entry("d", "drwx------", 0)), "t/local/d"
	for range 256 {
		deep.lists[dir] = []*api.AllocFileInfo{entry("d", "drwx------", 0)}
		dir += "/d"
	}
	gone := newFileServer()
	delete(gone.lists, ".")
	for name, c := range map[string]struct {
		server *fileServer
		file   string
		want   string
	}{
		"above":            {newFileServer(entry("../evil", "-rw-r--r--", 0)), "t/local", "a name that no file can have"},
		"the parent":       {newFileServer(entry("..", "drwxr-xr-x", 0)), "t/local", "a name that no file can have"},
		"itself":           {newFileServer(entry(".", "drwxr-xr-x", 0)), "t/local", "a name that no file can have"},
		"absolute":         {newFileServer(entry("/etc/passwd", "-rw-r--r--", 0)), "t/local", "a name that no file can have"},
		"below":            {newFileServer(entry("a/b", "-rw-r--r--", 0)), "t/local", "a name that no file can have"},
		"no name":          {newFileServer(entry("", "-rw-r--r--", 0)), "t/local", "a name that no file can have"},
		"null":             {newFileServer(nil), "t/local", "a name that no file can have"},
		"a negative size":  {file(-1, "abc"), "t/local", "negative size"},
		"shorter":          {file(4, "abc"), "t/local", "t/local/f ended after 3 of 4 bytes"},
		"longer":           {file(2, "abc"), "t/local", "cannot read t/local/f to its end"},
		"too many":         {many, "t/local", "more than 250000 files"},
		"endless":          {deep, "t/local", "nested more than 256 deep"},
		"a link":           {newFileServer(entry("l", "Lrwxrwxrwx", 1)), "t/local/l", "is a symbolic link"},
		"a pipe":           {newFileServer(entry("p", "prw-r--r--", 0)), "t/local/p", "no file, directory or symbolic link"},
		"missing":          {newFileServer(), "t/local/f", "t/local/f: file does not exist"},
		"missing above it": {newFileServer(), "t/local/d/f", "t/local/d: file does not exist"},
		"removed":          {gone, "t/local/d/f", "the files of the allocation may have been removed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entries, _, err := c.server.pack(t, c.file)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if slices.ContainsFunc(entries, func(e string) bool { return !strings.HasPrefix(e, "got/") || strings.Contains(e, "..") }) {
				t.Error(entries)
			}
		})
	}
}
