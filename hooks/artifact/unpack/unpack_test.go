package unpack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"taskrun/hooks/artifact/unpack"
)

var limits = unpack.Limits{Size: 1000, Entries: 8}

// unpackDir unpacks into a new directory, and returns it.
func unpackDir(t *testing.T, ctx context.Context, kind string, packed []byte) (dir string, err error) {
	t.Helper()
	dir, root, file := place(t, packed)
	return filepath.Join(dir, "got"), unpack.Dir(ctx, kind, file, root, "got", limits)
}

func place(t *testing.T, packed []byte) (dir string, root *os.Root, file *os.File) {
	t.Helper()
	dir = t.TempDir()
	name := filepath.Join(dir, "packed")
	must(t, os.WriteFile(name, packed, 0o600))
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { _ = root.Close() })
	file, err = os.Open(name)
	must(t, err)
	t.Cleanup(func() { _ = file.Close() })
	return dir, root, file
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree returns the content of a directory: the text of files, the targets of
// links, and "/" for a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch e.Type() {
		case fs.ModeDir:
			found[name] = "/"
		case fs.ModeSymlink:
			target, _ := os.Readlink(path)
			found[name] = "-> " + target
		default:
			text, err := os.ReadFile(path)
			found[name] = string(text)
			return err
		}
		return nil
	}))
	return found
}

func tarOf(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		text := h.Uname // these tests put the text of the file there
		h.Uname = ""
		if h.Mode == 0 && h.Typeflag != tar.TypeXGlobalHeader {
			h.Mode = 0o644
		}
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(text))
		}
		must(t, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_, err := io.WriteString(w, text)
			must(t, err)
		}
	}
	must(t, w.Close())
	return out.Bytes()
}

func file(name, text string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Uname: text}
}

func link(name, target string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}
}

func compress(t *testing.T, kind string, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch kind {
	case "gz":
		w = gzip.NewWriter(&out)
	case "xz":
		w, err = xz.NewWriter(&out)
	case "zst":
		w, err = zstd.NewWriter(&out)
	}
	must(t, err)
	_, err = w.Write(text)
	must(t, errors.Join(err, w.Close()))
	return out.Bytes()
}

// bz2 contains "two
//
// "; the standard library cannot write that format.
var bz2, _ = hex.DecodeString("425a68393141592653592eb71ad700000141800010000084802000219a68334d073c5dc914e14240badc6b5c")

func TestKinds(t *testing.T) {
	t.Parallel()
	packed := tarOf(t, file("a/b", "one"), tar.Header{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o4711}, link("l", "a/b"),
		tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "a/b"})
	want := map[string]string{"a": "/", "a/b": "one", "d": "/", "l": "-> a/b", "h": "one"}
	for kind, packed := range map[string][]byte{
		"tar": packed, "tar.gz": compress(t, "gz", packed), "tgz": compress(t, "gz", packed),
		"tar.xz": compress(t, "xz", packed), "txz": compress(t, "xz", packed),
		"tar.zst": compress(t, "zst", packed), "tzst": compress(t, "zst", packed),
	} {
		dir, err := unpackDir(t, t.Context(), kind, packed)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		if info, err := os.Stat(filepath.Join(dir, "d")); err != nil || info.Mode() != fs.ModeDir|0o711 {
			t.Errorf("%s: mode of a directory: %v, %v", kind, info.Mode(), err)
		}
	}
	for kind, packed := range map[string][]byte{
		"gz": compress(t, "gz", []byte("two\n")), "xz": compress(t, "xz", []byte("two\n")), "zst": compress(t, "zst", []byte("two\n")), "bz2": bz2,
		"tar": tarOf(t, file("x", "two\n")), "zip": zipOf(t, &zip.FileHeader{Name: "x"}, "two\n"),
	} {
		dir, root, f := place(t, packed)
		if err := unpack.File(t.Context(), kind, f, root, "got", limits); err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if text, err := os.ReadFile(filepath.Join(dir, "got")); string(text) != "two\n" {
			t.Errorf("%s: %q, %v", kind, text, err)
		}
	}
	for path, want := range map[string]string{"x.tar.gz": "tar.gz", "x.gz": "gz", "tar": "", "x.tgz.part": "", "a/x.zip": "zip"} {
		if got := unpack.KindOf(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

// zipOf creates an archive of headers, each followed by its text. A header with
// an explicit size keeps it.
func zipOf(t *testing.T, parts ...any) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for part := range slices.Chunk(parts, 2) {
		h, text := part[0].(*zip.FileHeader), part[1].(string)
		var f io.Writer
		var err error
		if h.UncompressedSize64 == 0 {
			f, err = w.CreateHeader(h)
		} else if strings.HasSuffix(h.Name, "/") {
			f, err = w.CreateRaw(h)
		} else {
			var packed bytes.Buffer
			deflate, _ := flate.NewWriter(&packed, flate.BestCompression)
			_, _ = io.WriteString(deflate, text)
			must(t, deflate.Close())
			text, h.Method, h.CompressedSize64 = packed.String(), zip.Deflate, uint64(packed.Len())
			f, err = w.CreateRaw(h)
		}
		must(t, err)
		if text != "" {
			_, err = io.WriteString(f, text)
			must(t, err)
		}
	}
	must(t, w.Close())
	return out.Bytes()
}

// TestHostileArchives unpacks malicious archives. Nothing may be written
// outside, and no more than the limits allow.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 1<<20)
	sizes := func(n uint64) *zip.FileHeader { return &zip.FileHeader{Name: "x", UncompressedSize64: n} }
	many := func(n, depth int) (headers []tar.Header) {
		for i := range n {
			headers = append(headers, file(strings.Repeat("d/", depth*i)+"x", ""))
		}
		return headers
	}
	dir := &zip.FileHeader{Name: "d/", UncompressedSize64: 1 << 63}
	dir.SetMode(fs.ModeDir | 0o755)
	device := &zip.FileHeader{Name: "dev"}
	device.SetMode(fs.ModeDevice | 0o600)
	longLink := &zip.FileHeader{Name: "l"}
	longLink.SetMode(fs.ModeSymlink | 0o777)
	for name, c := range map[string]struct {
		kind   string
		packed []byte
		want   string
	}{
		"large":                         {"tar", tarOf(t, file("x", large)), "larger than the limit of 1000 B"},
		"large after a large directory": {"tar", tarOf(t, tar.Header{Name: "d/", Typeflag: tar.TypeDir, Size: math.MaxInt64}, file("x", large)), "larger than the limit"},
		"large in a zip":                {"zip", zipOf(t, sizes(1<<20), large), "larger than the limit"},
		"a lie in a zip":                {"zip", zipOf(t, sizes(10), large), "not a valid zip file"},
		"the greatest size":             {"zip", zipOf(t, sizes(math.MaxInt64), large), "larger than the limit"},
		"a negative size":               {"zip", zipOf(t, sizes(math.MaxUint64), large), "larger than the limit"},
		"a directory of negative size":  {"zip", zipOf(t, dir, "", sizes(500), large), "not a valid zip file"},
		"large together":                {"tar", tarOf(t, file("x", large[:600]), file("y", large[:600])), "larger than the limit"},
		"many":                          {"tar", tarOf(t, many(9, 0)...), "too many files: the limit is 8"},
		"many directories":              {"tar", tarOf(t, many(8, 9)...), "too many directories: the limit is 16"},
		"a long name":                   {"tar", tarOf(t, file(strings.Repeat("d/", 4096)+"x", "")), "longer than 4096 bytes"},
		"above":                         {"tar", tarOf(t, file("../x", "x")), "entry contains '..'"},
		"above, later":                  {"tar", tarOf(t, file("a/../../x", "x")), "entry contains '..'"},
		"through a link":                {"tar", tarOf(t, link("l", ".."), file("l/x", "x")), "escapes"},
		"through an absolute link":      {"tar", tarOf(t, link("l", "/tmp"), file("l/x", "x")), "escapes"},
		"through two links":             {"tar", tarOf(t, file("d/e/x", "x"), link("l", "d/e"), link("l2", "l/../../.."), file("l2/x", "x")), "escapes"},
		"a directory through a link":    {"tar", tarOf(t, link("l", ".."), tar.Header{Name: "l/d/", Typeflag: tar.TypeDir}), "escapes"},
		"a hard link out":               {"tar", tarOf(t, tar.Header{Name: "l", Typeflag: tar.TypeLink, Linkname: "../packed"}), "leads to no other file"},
		"a hard link through a link":    {"tar", tarOf(t, link("l", ".."), tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "l/packed"}), "leads to no other file"},
		"a device":                      {"tar", tarOf(t, tar.Header{Name: "dev", Typeflag: tar.TypeBlock}), "neither a file"},
		"a FIFO":                        {"tar", tarOf(t, tar.Header{Name: "fifo", Typeflag: tar.TypeFifo}), "neither a file"},
		"a device in a zip":             {"zip", zipOf(t, device, ""), "neither a file"},
		"a long link in a zip":          {"zip", zipOf(t, longLink, large), "larger than the limit"},
		"a file as a directory":         {"tar", tarOf(t, file("x", "x"), file("x/y", "x")), "not a directory"},
		"empty":                         {"tar", tarOf(t), "the archive is empty"},
		"a single file":                 {"gz", compress(t, "gz", []byte("x")), "holds a single file"},
	} {
		dir, err := unpackDir(t, t.Context(), c.kind, c.packed)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		checkLimits(t, name, dir)
	}
}

// checkLimits checks what an archive has left behind.
func checkLimits(t *testing.T, name, dir string) {
	t.Helper()
	outside, err := os.ReadDir(filepath.Dir(dir))
	must(t, err)
	if len(outside) != 2 {
		t.Errorf("%s: written outside: %v", name, outside)
	}
	var size int64
	var files int
	seen := map[uint64]bool{} // files with several names
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		must(t, err)
		stat := info.Sys().(*syscall.Stat_t)
		if files++; info.Mode().IsRegular() && !seen[stat.Ino] {
			size, seen[stat.Ino] = size+info.Size(), true
		} else if !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSymlink {
			t.Errorf("%s: %s is %v", name, path, info.Mode())
		}
		return nil
	}))
	if files > limits.Entries || size > limits.Size+1 { // one byte more than allowed
		t.Errorf("%s: %d files of %d bytes", name, files, size)
	}
}

func TestLaterEntryReplacesEarlierOne(t *testing.T) {
	t.Parallel()
	dir, err := unpackDir(t, t.Context(), "tar", tarOf(t,
		file("x", "old"), file("x", "new"), link("l", "x"), file("l", "not through the link"), file("y", "y"), link("y", "x")))
	must(t, err)
	if diff := cmp.Diff(map[string]string{"x": "new", "l": "not through the link", "y": "-> x"}, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// TestUnpackingEndsWithItsContext cancels while writing a file that would take
// hours to unpack.
func TestUnpackingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir, root, f := place(t, compress(t, "gz", make([]byte, 1<<20)))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("killed")
	cancel(why)
	if err := unpack.File(ctx, "gz", f, root, "got", unpack.Limits{Size: math.MaxInt64, Entries: 1}); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "got")); err == nil && info.Size() > 0 {
		t.Errorf("%d bytes were written", info.Size())
	}
}

func FuzzArchive(f *testing.F) {
	t := new(testing.T)
	packed := tarOf(t, file("a/b", "one"), tar.Header{Name: "d/", Typeflag: tar.TypeDir}, link("l", "../x"), tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "a/b"})
	kinds := unpack.Kinds()
	for i, kind := range kinds {
		switch compression := kind[strings.LastIndexByte(kind, '.')+1:]; compression {
		case "tar":
			f.Add(i, packed, false)
		case "zip":
			f.Add(i, zipOf(t, &zip.FileHeader{Name: "a/b"}, "text", &zip.FileHeader{Name: "c"}, "text"), false)
		case "bz2", "tbz2":
			f.Add(i, bz2, true)
		default:
			f.Add(i, compress(t, strings.TrimPrefix(compression, "t"), packed), false)
		}
	}
	f.Fuzz(func(t *testing.T, kind int, packed []byte, single bool) {
		dir, root, file := place(t, packed)
		name := kinds[uint(kind)%uint(len(kinds))]
		if single {
			_ = unpack.File(t.Context(), name, file, root, "got", limits)
		} else {
			_ = unpack.Dir(t.Context(), name, file, root, "got", limits)
		}
		if _, err := os.Lstat(filepath.Join(dir, "got")); err == nil {
			checkLimits(t, name, filepath.Join(dir, "got"))
		} else if entries, _ := os.ReadDir(dir); len(entries) != 1 {
			t.Errorf("written outside: %v", entries)
		}
	})
}
