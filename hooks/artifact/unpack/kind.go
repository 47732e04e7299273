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

// Kinds returns the kinds of archives, which are also their file name suffixes.
func Kinds() []string {
	return []string{
		"tar.gz", "tgz", "tar.bz2", "tbz2", "tar.xz", "txz", "tar.zst", "tzst", "tar", "zip", "gz", "bz2", "xz", "zst",
	}
}

// Single reports whether archives of a kind contain a single file without a
// name.
func Single(kind string) bool {
	return slices.Contains([]string{"gz", "bz2", "xz", "zst"}, kind)
}

// KindOf returns the kind of archive by the longest matching suffix of a path,
// or "".
func KindOf(path string) (kind string) {
	for _, k := range Kinds() {
		if len(k) > len(kind) && strings.HasSuffix(path, "."+k) {
			kind = k
		}
	}
	return kind
}

// maxWindow limits the memory that a zstd archive may require, in bytes. The
// zstd command has the same limit.
const maxWindow = 128 << 20

// decompress returns a reader of the decompressed text, and a function that
// releases it.
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
