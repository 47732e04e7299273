package artifact

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-getter/v2"
)

// local returns the path of a source on this machine and whether it is a
// directory. A relative one starts where taskrun was started.
func (o *order) local() (path string, dir bool, err error) {
	if path, err = filepath.Abs(o.url.Path); err != nil {
		return "", false, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", false, err
	}
	return path, info.IsDir(), nil
}

// copyFile copies a file; when ctx ends it breaks off.
func copyFile(ctx context.Context, from, to string, m *meter) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is neither a file nor a directory")
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	m.begin(info.Size())
	_, err = getter.Copy(ctx, out, io.TeeReader(in, m))
	return err
}
