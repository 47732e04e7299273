package tarball

import (
	"archive/tar"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Unpack writes the entries of a stream to a local path, by the rules of cp and
// docker cp. Base is the entry that was asked for; "." stands for all of them. A
// directory is copied into one that exists; if base is ".", its contents are.
//
// A file appears when it is whole. Files keep their permissions and times, but neither
// their owners nor setuid and setgid bits.
func Unpack(from io.Reader, base, to string) (sum Sum, err error) {
	r := tar.NewReader(from)
	h, err := r.Next()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return sum, err
	}
	dir, name, err := place(to, base, h.Typeflag == tar.TypeDir || base == ".")
	if err != nil {
		return sum, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return sum, err
	}
	defer root.Close()
	u := unpacker{root: root, base: base, name: name}
	for ; err == nil; h, err = r.Next() {
		if err = u.add(h, r); err != nil {
			return u.sum, err
		}
	}
	if !errors.Is(err, io.EOF) {
		return u.sum, err
	}
	return u.sum, u.finish()
}

// place returns the directory in which to unpack, and the name there.
func place(to, base string, directory bool) (dir, name string, err error) {
	info, err := os.Stat(to)
	switch {
	case err == nil && info.IsDir(): // "." is a name, too
		return to, base, nil
	case err == nil && directory:
		return "", "", fmt.Errorf("cannot copy a directory to %s: it is a file", to)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", "", err
	case strings.HasSuffix(to, "/") && !directory:
		return "", "", fmt.Errorf("cannot copy a file to %s: there is no such directory", to)
	}
	return filepath.Dir(filepath.Clean(to)), filepath.Base(to), nil
}

type unpacker struct {
	root       *os.Root
	base, name string
	sum        Sum
	dirs       []*tar.Header // with their new names; they get their permissions at the end
	straight   string        // a directory to which no symbolic link leads
}

// local returns the name of an entry in the root.
func (u *unpacker) local(entry string) (string, error) {
	clean := path.Clean(entry)
	rest, within := clean, filepath.IsLocal(clean)
	if u.base != "." {
		rest, within = strings.CutPrefix(clean, u.base)
		within = within && (rest == "" || rest[0] == '/')
	}
	name := path.Join(u.name, strings.TrimPrefix(rest, "/"))
	if !within || !filepath.IsLocal(name) {
		return "", fmt.Errorf("the task sent %q, which was not asked for", entry)
	}
	return name, u.goStraight(path.Dir(name))
}

// goStraight refuses a directory to which a symbolic link leads. The root refuses links
// that leave it, but not those from the copy to other files of the user there.
func (u *unpacker) goStraight(dir string) error {
	if dir == u.straight {
		return nil
	}
	for at := dir; at != "."; at = path.Dir(at) {
		info, err := u.root.Lstat(at)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("the task sent files below %q, which is no directory", at)
		}
	}
	u.straight = dir
	return nil
}

func (u *unpacker) add(h *tar.Header, content io.Reader) error {
	name, err := u.local(h.Name)
	if err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		err := u.root.Mkdir(name, 0o700)
		if errors.Is(err, fs.ErrExist) {
			if info, statErr := u.root.Lstat(name); statErr != nil || info.IsDir() {
				err = statErr
			}
			if name == "." {
				return err // the directory is the user's
			}
		}
		own := *h
		own.Name = name
		u.dirs = append(u.dirs, &own)
		return err
	case tar.TypeReg:
		if isSparse(h) {
			return fmt.Errorf("%s is sparse in the stream, where it could be larger than any disk", name)
		}
		return u.replace(name, func(temporary string) error { return u.write(temporary, h, content) })
	case tar.TypeSymlink:
		return u.replace(name, func(temporary string) error { return u.root.Symlink(h.Linkname, temporary) })
	case tar.TypeLink:
		other, err := u.local(h.Linkname)
		if err != nil {
			return err
		}
		return u.replace(name, func(temporary string) error { return u.root.Link(other, temporary) })
	}
	u.sum.skip(name)
	return nil
}

// replace makes something under a temporary name, and gives it its own when it is
// whole.
func (u *unpacker) replace(name string, write func(temporary string) error) error {
	temporary := path.Join(path.Dir(name), ".taskrun-"+rand.Text())
	err := write(temporary)
	if err == nil {
		err = u.root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(u.root.Remove(temporary)))
	}
	// Of two links to one file, the first was renamed to the second: nothing happens.
	return ignoreMissing(u.root.Remove(temporary))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (u *unpacker) write(name string, h *tar.Header, content io.Reader) error {
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, content)
	err = errors.Join(err, f.Chmod(permissions(h)), f.Close())
	if err == nil {
		u.sum.Files, u.sum.Bytes = u.sum.Files+1, u.sum.Bytes+n
		err = u.setTime(name, h)
	}
	return err
}

// isSparse reports whether the holes of a file were left out of the stream, as no tar
// does that was not told to.
func isSparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// permissions returns the permissions of an entry. Its setuid and setgid bits would
// make it run as the user who copies.
func permissions(h *tar.Header) fs.FileMode { return h.FileInfo().Mode() & fs.ModePerm }

func (u *unpacker) setTime(name string, h *tar.Header) error {
	if h.ModTime.IsZero() {
		return nil
	}
	return u.root.Chtimes(name, time.Now(), h.ModTime)
}

// finish gives directories their permissions, the inner ones first.
func (u *unpacker) finish() (err error) {
	for _, h := range slices.Backward(u.dirs) {
		err = cmp.Or(err, u.root.Chmod(h.Name, permissions(h)), u.setTime(h.Name, h))
	}
	return err
}
