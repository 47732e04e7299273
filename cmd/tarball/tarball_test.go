package tarball_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/tarball"
	"taskrun/engine/leaf/leaktest"
)

func TestMain(m *testing.M) {
	syscall.Umask(0o022) // some tests compare modes
	os.Exit(m.Run())
}

// tree returns what is in a directory: "NAME MODE CONTENT", or the target of a link.
func tree(t *testing.T, dir string) (lines []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		line := name + " " + info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + string(text)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " " + target
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// source makes a directory "src" with all kinds of files.
func source(t *testing.T) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(leaktest.TempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = root.Close()
		_ = filepath.WalkDir(root.Name(), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				_ = os.Chmod(path, 0o700) // otherwise an ordinary user cannot remove what is in it
			}
			return nil
		})
	})
	for _, err := range []error{
		root.MkdirAll("src/sub", 0o755), root.WriteFile("src/run", []byte("#!"), 0o755), root.WriteFile("src/sub/b", []byte("two"), 0o600),
		root.Symlink("run", "src/link"), root.Symlink("/etc/passwd", "src/out"), syscall.Mkfifo(filepath.Join(root.Name(), "src/fifo"), 0o600),
		root.Chmod("src/sub", 0o500), root.Chtimes("src/run", time.Now(), time.Unix(1e9, 0)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func pack(t *testing.T, root *os.Root, file, name string) (*bytes.Buffer, tarball.Sum) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	sum, err := tarball.Pack(w, tarball.Root{Root: root}, file, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b, sum
}

var content = []string{"link Lrwxrwxrwx run", "out Lrwxrwxrwx /etc/passwd", "run -rwxr-xr-x #!", "sub dr-x------", "sub/b -rw------- two"}

// below returns tree lines in a directory of their own.
func below(dir string, lines []string) []string {
	all := []string{dir + " drwxr-xr-x"}
	for _, line := range lines {
		all = append(all, dir+"/"+line)
	}
	return all
}

func TestRulesOfPlaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, base string // packed, and asked for
		to         string
		want       []string
		err        string
	}{
		"a directory to a new name":              {"src", "src", "new", below("new", content), ""},
		"a directory to a new name with a slash": {"src", "src", "new/", below("new", content), ""},
		"a directory into another":               {"src", "src", "there", append([]string{"there drwxr-xr-x"}, below("there/src", content)...), ""},
		"contents into a directory":              {"src", ".", "there", below("there", content), ""},
		"contents to a new name":                 {"src", ".", "new", below("new", content), ""},
		"a file to a new name":                   {"src/run", "run", "new", []string{"new -rwxr-xr-x #!"}, ""},
		"a file into a directory":                {"src/run", "run", "there", []string{"there drwxr-xr-x", "there/run -rwxr-xr-x #!"}, ""},
		"a file over a file":                     {"src/run", "run", "file", []string{"file -rwxr-xr-x #!"}, ""},
		"a link to a new name":                   {"src/link", "link", "new", []string{"new Lrwxrwxrwx run"}, ""},
		"a file to a missing directory":          {"src/run", "run", "new/", nil, "there is no such directory"},
		"a file below a missing directory":       {"src/run", "run", "none/new", nil, "no such file or directory"},
		"a file below a file":                    {"src/run", "run", "file/new", nil, "not a directory"},
		"a directory over a file":                {"src", "src", "file", nil, "it is a file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packed := c.base
			stream, _ := pack(t, source(t), c.file, packed)
			dir := leaktest.TempDir(t)
			if strings.HasPrefix(c.to, "there") {
				if err := os.Mkdir(filepath.Join(dir, "there"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if strings.HasPrefix(c.to, "file") {
				if err := os.WriteFile(filepath.Join(dir, "file"), []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
				if c.err != "" {
					c.want = []string{"file -rw------- old"}
				}
			}
			_, err := tarball.Unpack(stream, c.base, dir+"/"+c.to)
			t.Cleanup(func() { // or the directory cannot be removed
				_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
					if err == nil && d.IsDir() {
						_ = os.Chmod(path, 0o700) //nolint:gosec // of a test
					}
					return err
				})
			})
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q", err, c.err)
			}
			if diff := cmp.Diff(c.want, tree(t, dir)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSumAndTimes(t *testing.T) {
	t.Parallel()
	stream, sum := pack(t, source(t), "src", "src")
	want := tarball.Sum{Files: 2, Bytes: 5, Skipped: []string{"src/fifo"}}
	if diff := cmp.Diff(want, sum); diff != "" {
		t.Error(diff)
	}
	to := filepath.Join(leaktest.TempDir(t), "new")
	got, err := tarball.Unpack(stream, "src", to)
	defer os.Chmod(filepath.Join(to, "sub"), 0o700)
	if want.Skipped = nil; err != nil || !cmp.Equal(want, got) {
		t.Errorf("%+v, %v", got, err)
	}
	if info, err := os.Stat(filepath.Join(to, "run")); err != nil || info.ModTime().Unix() != 1e9 {
		t.Error(info, err)
	}
}

// hostile returns a stream with entries.
func hostile(t testing.TB, entries ...tar.Header) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		h.Size = 0
		if h.Typeflag == tar.TypeReg {
			h.Size = 4
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, "evil"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestStreamsCannotEscape(t *testing.T) {
	t.Parallel()
	dir := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755} }
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o6755} }
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink, Mode: 0o777}
	}
	hard := func(name, to string) tar.Header {
		return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeLink, Mode: 0o644}
	}
	for name, c := range map[string]struct {
		base    string
		entries []tar.Header
		want    []string // beside the file "mine"
		fails   bool
	}{
		"through ..":                        {"x", []tar.Header{dir("x"), file("x/../../mine")}, []string{"to drwxr-xr-x", "to/x drwx------"}, true},
		"of contents through ..":            {".", []tar.Header{dir("."), file("../mine")}, []string{"to drwxr-xr-x"}, true},
		"with an absolute name":             {".", []tar.Header{dir("."), file("/tmp/mine")}, []string{"to drwxr-xr-x"}, true},
		"under another name":                {"x", []tar.Header{dir("x"), file("xy")}, []string{"to drwxr-xr-x", "to/x drwx------"}, true},
		"through a link to a directory":     {"x", []tar.Header{dir("x"), link("x/l", "../.."), file("x/l/mine")}, []string{"to drwxr-xr-x", "to/x drwx------", "to/x/l Lrwxrwxrwx ../.."}, true},
		"through a link to the destination": {"x", []tar.Header{dir("x"), link("x/l", ".."), file("x/l/other")}, []string{"to drwxr-xr-x", "to/x drwx------", "to/x/l Lrwxrwxrwx .."}, true},
		"of a directory through a link":     {"x", []tar.Header{dir("x"), link("x/l", ".."), dir("x/l/other")}, []string{"to drwxr-xr-x", "to/x drwx------", "to/x/l Lrwxrwxrwx .."}, true},
		"with a hard link through a link":   {"x", []tar.Header{dir("x"), link("x/l", "x"), file("x/a"), hard("x/b", "x/l/a")}, []string{"to drwxr-xr-x", "to/x drwx------", "to/x/a -rwxr-xr-x evil", "to/x/l Lrwxrwxrwx x"}, true},
		"through a link to a file":          {"x", []tar.Header{dir("x"), link("x/l", "../../mine"), file("x/l")}, []string{"to drwxr-xr-x", "to/x drwxr-xr-x", "to/x/l -rwxr-xr-x evil"}, false},
		"with a hard link":                  {"x", []tar.Header{dir("x"), hard("x/l", "mine")}, []string{"to drwxr-xr-x", "to/x drwx------"}, true},
		"permissions through a link":        {"x", []tar.Header{dir("x"), link("x/l", "../../mine"), hard("x/m", "x/l")}, []string{"to drwxr-xr-x", "to/x drwxr-xr-x", "to/x/l Lrwxrwxrwx ../../mine", "to/x/m Lrwxrwxrwx ../../mine"}, false},
		"as a device":                       {"x", []tar.Header{{Name: "x", Typeflag: tar.TypeChar, Mode: 0o666}}, []string{"to drwxr-xr-x"}, false},
		"with setuid":                       {"x", []tar.Header{file("x")}, []string{"to drwxr-xr-x", "to/x -rwxr-xr-x evil"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outer := leaktest.TempDir(t)
			if err := os.WriteFile(filepath.Join(outer, "mine"), []byte("good"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(outer, "to"), 0o755); err != nil {
				t.Fatal(err)
			}
			if _, err := tarball.Unpack(hostile(t, c.entries...), c.base, filepath.Join(outer, "to")); (err != nil) != c.fails {
				t.Error(err)
			}
			if diff := cmp.Diff(append([]string{"mine -rw------- good"}, c.want...), tree(t, outer)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A stream that ends too early leaves no part of a file.
func TestNoHalfFiles(t *testing.T) {
	t.Parallel()
	root := source(t)
	if err := root.WriteFile("src/run", bytes.Repeat([]byte("x"), 100_000), 0o644); err != nil {
		t.Fatal(err)
	}
	stream, _ := pack(t, root, "src/run", "run")
	dir := leaktest.TempDir(t)
	if err := os.WriteFile(filepath.Join(dir, "run"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{0, 100, 512, 5000, 100_000} {
		if _, err := tarball.Unpack(io.LimitReader(bytes.NewReader(stream.Bytes()), n), "run", dir); err == nil {
			t.Errorf("%d bytes are enough", n)
		}
	}
	if got := tree(t, dir); !slices.Equal(got, []string{"run -rw------- old"}) {
		t.Error(got)
	}
}

func FuzzUnpack(f *testing.F) {
	for i, entries := range [][]tar.Header{
		{{Name: "x/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "x/a", Typeflag: tar.TypeReg, Mode: 0o644}},
		{{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "../a", Typeflag: tar.TypeReg, Mode: 0o644}},
		{{Name: "x/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "x/l", Typeflag: tar.TypeSymlink, Linkname: ".."}, {Name: "x/l/a", Typeflag: tar.TypeReg}},
		{{Name: "x", Typeflag: tar.TypeSymlink, Linkname: "../mine"}, {Name: "x", Typeflag: tar.TypeLink, Linkname: "mine"}},
	} {
		text, err := io.ReadAll(hostile(f, entries...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, i == 1)
	}
	f.Fuzz(func(t *testing.T, text []byte, all bool) {
		outer, base := leaktest.TempDir(t), "x"
		if all {
			base = "."
		}
		mine := filepath.Join(outer, "mine")
		if err := os.WriteFile(mine, []byte("good"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(outer, "to"), 0o755); err != nil {
			t.Fatal(err)
		}
		_, _ = tarball.Unpack(bytes.NewReader(text), base, filepath.Join(outer, "to"))
		entries, err := os.ReadDir(outer)
		info, statErr := os.Stat(mine)
		if err != nil || statErr != nil || fmt.Sprint(entries) != "[- mine d to/]" || info.Mode() != 0o600 {
			t.Error(entries, info, err, statErr)
		}
		entries, err = os.ReadDir(filepath.Join(outer, "to"))
		if !all && (err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != "x" })) {
			t.Error("beside what was asked for:", entries, err)
		}
		if text, _ := os.ReadFile(mine); string(text) != "good" {
			t.Errorf("%q", text)
		}
	})
}

// An empty stream is not a copy of nothing, and other errors are told as they are.
func TestStreamsWithoutEntries(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{"": io.ErrUnexpectedEOF, strings.Repeat("x", 512): tar.ErrHeader} {
		if sum, err := tarball.Unpack(strings.NewReader(text), ".", leaktest.TempDir(t)); err != want || sum.Files != 0 {
			t.Errorf("%.9q: %v, %v, want %v", text, sum, err, want)
		}
	}
}

// A link that leads nowhere, in a circle, is not replaced by a file.
func TestUnpackToACircle(t *testing.T) {
	t.Parallel()
	to := filepath.Join(leaktest.TempDir(t), "to")
	if err := os.Symlink("to", to); err != nil {
		t.Fatal(err)
	}
	_, err := tarball.Unpack(hostile(t, tar.Header{Typeflag: tar.TypeReg, Name: "x", Mode: 0o600}), "x", to)
	if target, linkErr := os.Readlink(to); !errors.Is(err, syscall.ELOOP) || target != "to" {
		t.Errorf("%v, and the link is %q, %v", err, target, linkErr)
	}
}

// A stream of entries without end costs no memory.
func TestOnlySomeOfWhatIsSkippedIsNamed(t *testing.T) {
	t.Parallel()
	var entries []tar.Header
	for i := range 1000 {
		entries = append(entries, tar.Header{Typeflag: tar.TypeFifo, Name: fmt.Sprintf("src/%d", i)})
	}
	entries = slices.Insert(entries, 0, tar.Header{Typeflag: tar.TypeDir, Name: "src/", Mode: 0o755})
	sum, err := tarball.Unpack(hostile(t, entries...), "src", filepath.Join(leaktest.TempDir(t), "new"))
	if n := len(sum.Skipped); err != nil || n == 0 || n > 100 || n+sum.More != 1000 {
		t.Errorf("%d names and %d more, %v", n, sum.More, err)
	}
}

// blind is a source that cannot read links, like the API for files of a cluster.
type blind struct{ tarball.Root }

func (blind) Readlink(string) (string, error) { return "", errors.ErrUnsupported }

// A file that cannot be copied is left out of a directory, and is an error if only
// that file was requested.
func TestWhatCannotBePacked(t *testing.T) {
	t.Parallel()
	from := blind{tarball.Root{Root: source(t)}}
	for file, want := range map[string]string{
		"src":      "<nil> [src/fifo] [src/link src/out]",
		"src/link": "src/link is a symbolic link, and its target is unknown [] [src/link]",
		"src/fifo": "src/fifo is no file, directory or symbolic link [src/fifo] []",
	} {
		sum, err := tarball.Pack(tar.NewWriter(io.Discard), from, file, "to")
		slices.Sort(sum.Links)
		if got := fmt.Sprint(err, sum.Skipped, sum.Links); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
}

// shrinking is a source whose files become shorter before they are read.
type shrinking struct{ tarball.Root }

func (s shrinking) Open(name string, seen fs.FileInfo) (io.ReadCloser, error) {
	if err := os.Truncate(filepath.Join(s.Name(), name), seen.Size()-1); err != nil {
		return nil, err
	}
	return s.Root.Open(name, seen)
}

func TestFileThatBecomesShorter(t *testing.T) {
	t.Parallel()
	sum, err := tarball.Pack(tar.NewWriter(io.Discard), shrinking{tarball.Root{Root: source(t)}}, "src/run", "to")
	if err == nil || err.Error() != "src/run has become shorter while it was copied" || sum.Files != 0 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// A file has no directory entries.
func TestReadDirOfAFile(t *testing.T) {
	t.Parallel()
	root := tarball.Root{Root: source(t)}
	info, err := root.Stat("src/run")
	if err != nil {
		t.Fatal(err)
	}
	if names, err := root.ReadDir("src/run", info); len(names) > 0 || !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("it has %q, %v", names, err)
	}
}
