package unpack

import (
	"compress/bzip2"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// Kinds returns the kinds of archives, which are also the suffixes by which
// they are known.
func Kinds() []string {
	return []string{
		"tar.gz", "tgz", "tar.bz2", "tbz2", "tar.xz", "txz", "tar.zst", "tzst", "tar", "zip", "gz", "bz2", "xz", "zst",
	}
}

// Single reports whether archives of a kind hold a single file without a name.
func Single(kind string) bool {
	return slices.Contains([]string{"gz", "bz2", "xz", "zst"}, kind)
}

// KindOf returns the kind of archive that a path ends with, the longest that
// fits, or "".
func KindOf(path string) (kind string) {
	for _, k := range Kinds() {
		if len(k) > len(kind) && strings.HasSuffix(path, "."+k) {
			kind = k
		}
	}
	return kind
}

// maxWindow is how much memory a zstd archive may demand, in bytes. The zstd
// command has the same limit.
const maxWindow = 128 << 20

// decompress returns a reader of the text that packed holds, and a function
// that releases it.
func decompress(kind string, packed io.Reader) (text io.Reader, release func(), err error) {
	release = func() {}
	switch compression := kind[strings.LastIndexByte(kind, '.')+1:]; compression {
	case "tar":
		return packed, release, nil
	case "gz", "tgz":
		text, err = gzip.NewReader(packed)
	case "bz2", "tbz2":
		text = bzip2.NewReader(packed)
	case "xz", "txz":
		text, err = xz.NewReader(packed)
	case "zst", "tzst":
		var r *zstd.Decoder
		r, err = zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err == nil {
			text, release = r, r.Close
		}
	default:
		err = fmt.Errorf("unknown kind of archive %q", kind)
	}
	return text, release, err
}
