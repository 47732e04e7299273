package artifact

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/go-getter/v2"
)

// archives are the kinds that can be unpacked, which are also the suffixes by
// which they are known; singles are those that hold one file.
var (
	archives = []string{
		"tar.gz", "tgz", "tar.bz2", "tbz2", "tar.xz", "txz", "tar.zst", "tzst", "tar", "zip", "gz", "bz2", "xz", "zst",
	}
	singles = []string{"gz", "bz2", "xz", "zst"}
)

// suffix is the kind of archive that a path ends with, the longest that fits.
func suffix(path string) (kind string) {
	for _, a := range archives {
		if len(a) > len(kind) && strings.HasSuffix(path, "."+a) {
			kind = a
		}
	}
	return kind
}

// unpack unpacks an archive into a directory or, when it holds a single file,
// to that path. Bits that give a file's owner's rights away are taken off.
func unpack(ctx context.Context, cfg Config, kind, file, to string, dir bool) error {
	// A decompressor knows no context: without its input it ends soon.
	defer context.AfterFunc(ctx, func() { _ = os.Truncate(file, 0) })()
	d := getter.LimitedDecompressors(cfg.UnpackedFiles, cfg.UnpackedSize)[kind]
	err := d.Decompress(to, file, dir, os.ModeSetuid|os.ModeSetgid)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("cannot unpack it: %w", err)
	}
	if info, err := os.Stat(to); err == nil && !dir && info.Size() >= cfg.UnpackedSize {
		return errors.New("cannot unpack it: " + tooLarge("the file in it", cfg.UnpackedSize))
	}
	return nil
}
