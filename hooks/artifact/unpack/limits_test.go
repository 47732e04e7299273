package unpack_test

import (
	"archive/tar"
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/hooks/artifact/unpack"
)

// Archives just within the limits are unpacked, and those just beyond are not.
func TestLimits(t *testing.T) {
	t.Parallel()
	text := func(n int) string { return strings.Repeat("x", n) }
	tars := func(n int, of func(i int) tar.Header) []byte {
		var headers []tar.Header
		for i := range n {
			headers = append(headers, of(i))
		}
		return tarOf(t, headers...)
	}
	zips := func(n int, comment string) []byte {
		var parts []any
		for i := range n {
			parts = append(parts, &zip.FileHeader{Name: fmt.Sprint("x", i), Comment: comment}, "")
		}
		return zipOf(t, parts...)
	}
	empty := func(i int) tar.Header { return file(fmt.Sprint("x", i), "") }
	deep := func(n int) []byte { return tarOf(t, file(strings.Repeat("d/", n)+"x", "")) }
	long := func(n int) []byte {
		return tarOf(t, file(strings.Repeat("d/", 4)+text(n), ""))
	}
	for name, tt := range map[string]struct {
		kind   string
		packed func(more int) []byte
		want   string
	}{
		"bytes of a tar":       {"tar", func(more int) []byte { return tarOf(t, file("x", text(600)), file("y", text(400+more))) }, "larger than the limit of 1000 B"},
		"bytes of a zip":       {"zip", func(more int) []byte { return zipOf(t, &zip.FileHeader{Name: "x"}, text(1000+more)) }, "larger than the limit of 1000 B"},
		"entries of a tar":     {"tar", func(more int) []byte { return tars(8+more, empty) }, "too many files: the limit is 8"},
		"entries of a zip":     {"zip", func(more int) []byte { return zips(8+more, "") }, "too many files: the limit is 8"},
		"directories":          {"tar", func(more int) []byte { return deep(16 + more) }, "too many directories: the limit is 16"},
		"the name of a file":   {"tar", func(more int) []byte { return long(200 + more*4096) }, "longer than 4096 bytes"},
		"the target of a link": {"tar", func(more int) []byte { return tarOf(t, link("l", text(4000+more*97))) }, "is longer than 4096 bytes"},
		"the list of a zip":    {"zip", func(more int) []byte { return zips(8+more*20, text(60_000)) }, "too many files: the limit is 8"},
		"a name that goes up":  {"tar", func(more int) []byte { return tarOf(t, file("a..b/..."+strings.Repeat("/..", more), "")) }, "entry contains '..'"},
		"a name that has none": {"tar", func(more int) []byte { return tarOf(t, file([]string{"x", "."}[more], "x")) }, "a file in the archive has no name"},
		"something in it":      {"zip", func(more int) []byte { return zips(1-more, "") }, "the archive is empty"},
		"a hard link to itself": {"tar", func(more int) []byte {
			return tarOf(t, file("x", ""), tar.Header{Name: []string{"y", "x"}[more], Typeflag: tar.TypeLink, Linkname: "x"})
		}, "leads to no other file of the archive"},
	} {
		if _, err := unpackDir(t, t.Context(), tt.kind, tt.packed(0)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		dir, err := unpackDir(t, t.Context(), tt.kind, tt.packed(1))
		if err == nil || !strings.HasPrefix(err.Error(), "cannot unpack it: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, beyond: %v, want %s", name, err, tt.want)
		}
		checkLimits(t, name, dir)
	}
	// The target of a link may be as long as the name of a file; Linux allows a byte less.
	if _, err := unpackDir(t, t.Context(), "tar", tarOf(t, link("l", text(4096)))); err != nil && !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("the longest target of a link: %v", err)
	}
	for name, tt := range map[string]struct {
		more int
		want string
	}{"a single file": {0, ""}, "a single file, beyond": {1, "larger than the limit of 1000 B"}} {
		_, root, f := place(t, compress(t, "gz", []byte(text(1000+tt.more))))
		err := unpack.File(t.Context(), "gz", f, root, "got", limits)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An archive of one file contains that and nothing else.
func TestArchivesOfOneFile(t *testing.T) {
	t.Parallel()
	one := file("x", "one")
	for name, tt := range map[string]struct {
		kind   string
		packed []byte
		want   string
	}{
		"one":            {"tar", tarOf(t, one), ""},
		"in a directory": {"tar", tarOf(t, file("d/x", "one")), ""},
		"two":            {"tar", tarOf(t, one, file("y", "two")), "exactly one file"},
		"a directory":    {"tar", tarOf(t, tar.Header{Name: "d/", Typeflag: tar.TypeDir}, one), "exactly one file"},
		"a link":         {"tar", tarOf(t, link("l", "x")), "exactly one file"},
		"a hard link":    {"tar", tarOf(t, one, tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "x"}), "exactly one file"},
		"none":           {"tar", tarOf(t), "the archive is empty"},
		"unknown":        {"rar", []byte("x"), `unknown kind of archive "rar"`},
		"no zip":         {"zip", []byte("x"), "not a valid zip file"},
		"no gzip":        {"tar.gz", []byte("xxxxxxxxxxxxx"), "invalid header"},
		"two in a zip":   {"zip", zipOf(t, &zip.FileHeader{Name: "x"}, "1", &zip.FileHeader{Name: "y"}, "2"), "exactly one file"},
	} {
		dir, root, f := place(t, tt.packed)
		err := unpack.File(t.Context(), tt.kind, f, root, "got", limits)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
		if text, _ := os.ReadFile(filepath.Join(dir, "got")); tt.want == "" && string(text) != "one" {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// Files keep their permissions, but no other mode bits, and metadata of an
// archive is skipped.
func TestModes(t *testing.T) {
	t.Parallel()
	program, listed := &zip.FileHeader{Name: "run"}, &zip.FileHeader{Name: "d/"}
	program.SetMode(0o751 | fs.ModeSetuid)
	listed.SetMode(fs.ModeDir | 0o700)
	for kind, packed := range map[string][]byte{
		"tar": tarOf(t, tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}},
			tar.Header{Name: "run", Typeflag: tar.TypeReg, Mode: 0o4751, Uname: "text"}, tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o700}),
		"zip": zipOf(t, program, "text", listed, ""),
	} {
		dir, err := unpackDir(t, t.Context(), kind, packed)
		must(t, err)
		want := map[string]string{"run": "text"}
		if kind == "zip" {
			want["d"] = "/"
		}
		if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
		if info, err := os.Stat(filepath.Join(dir, "run")); err != nil || info.Mode() != 0o751 {
			t.Errorf("%s: mode %v, %v", kind, info.Mode(), err)
		}
	}
	// An existing directory is not unpacked into.
	dir, root, f := place(t, tarOf(t, file("x", "x")))
	must(t, os.Mkdir(filepath.Join(dir, "got"), 0o700))
	if err := unpack.Dir(t.Context(), "tar", f, root, "got", limits); err == nil {
		t.Error("it was unpacked into a directory that was there")
	}
}
