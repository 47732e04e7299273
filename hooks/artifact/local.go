package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hashicorp/go-getter/v2"
)

// getLocal copies a file or a directory of this machine to name in the stage.
// Relative paths start in the working directory of taskrun.
func (o *order) getLocal(ctx context.Context, stage *os.Root, name string, m *meter) (isDir bool, err error) {
	path, err := filepath.Abs(o.url.Path)
	if err != nil {
		return false, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		if o.mode == "dir" && o.archive == "" {
			return false, errors.New(`it is a file, and the mode is "dir"`)
		}
		in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return false, err
		}
		return false, copyFile(ctx, in, stage, name, m)
	}
	from, err := os.OpenRoot(path)
	if err != nil {
		return true, err
	}
	defer func() { _ = from.Close() }()
	return true, copyTree(ctx, from, stage, "got", m)
}

// copyTree copies a directory. Other users may change it meanwhile, so no link
// is followed out of it.
func copyTree(ctx context.Context, from, stage *os.Root, name string, m *meter) error {
	return fs.WalkDir(from.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		to := filepath.Join(name, path)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return stage.Mkdir(to, 0o777)
		case e.Type() == fs.ModeSymlink:
			target, err := from.Readlink(path)
			if err != nil {
				return err
			}
			return stage.Symlink(target, to)
		}
		in, err := from.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			err = copyFile(ctx, in, stage, to, m)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
}

// copyFile copies a file and closes it. It stops when ctx ends.
func copyFile(ctx context.Context, in *os.File, stage *os.Root, name string, m *meter) (err error) {
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is neither a file nor a directory")
	}
	out, err := stage.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	m.begin(info.Size())
	_, err = getter.Copy(ctx, out, io.TeeReader(in, m))
	return err
}
