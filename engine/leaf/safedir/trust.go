package safedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxLinks limits the links in a path, as in the kernel.
const maxLinks = 40

// CheckTrusted returns an *UntrustedError if anyone except root, this user and
// the users could replace a path, or a directory or link on the way to it. Each
// of them must belong to one of these users and be writable by nobody else; in
// a directory with the sticky bit, such as /tmp, others can create files but
// not replace any. Everything below a directory that only these users can enter
// is trusted. The check ends at the first missing name.
//
// A positive result stays valid: only trusted users can change it.
func CheckTrusted(path string, users ...int) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	t := trust{path: path, users: append([]int{0, os.Geteuid()}, users...)}
	at, rest, links := "/", strings.Split(path, "/"), 0
	for {
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.check(at, info); err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(at)
			if links++; err == nil && links > maxLinks {
				err = fmt.Errorf("cannot use %q: too many links", path)
			}
			if err != nil {
				return err
			}
			rest = append(strings.Split(target, "/"), rest...)
			if at = filepath.Dir(at); filepath.IsAbs(target) {
				at = "/"
			}
		}
		if len(rest) == 0 {
			return nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:] // at contains no links: ".." is the directory above
	}
}

// UntrustedError says who could replace a path.
type UntrustedError struct {
	Path   string
	At     string // the directory, file or link on the way
	Why    string
	Remedy string // a command; may be empty
}

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("cannot use %q: %q %s", e.Path, e.At, e.Why)
}

// trust is a check of a path.
type trust struct {
	path   string
	users  []int
	closed string // a directory that nobody else can enter
}

func (t *trust) check(at string, info fs.FileInfo) error {
	if t.closed != "" && strings.HasPrefix(at, t.closed+"/") {
		return nil
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("cannot find the owner of %q", at)
	}
	if uid := int(stat.Uid); !slices.Contains(t.users, uid) && !isUnmapped(uid) {
		return &UntrustedError{t.path, at, fmt.Sprintf("belongs to another user (uid %d), who could replace it", uid), ""}
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return nil // the mode of a link means nothing
	}
	if info.IsDir() && t.isClosed(at, info) {
		t.closed = at
		return nil
	}
	if info.IsDir() && info.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	switch perm := info.Mode().Perm(); {
	case perm&0o002 != 0:
		return &UntrustedError{t.path, at, "can be changed by every user", "chmod o-w " + at}
	case perm&0o020 != 0 && stat.Gid != 0 && int(stat.Gid) != os.Getegid():
		return &UntrustedError{t.path, at, fmt.Sprintf("can be changed by group %d", stat.Gid), "chmod g-w " + at}
	}
	return nil
}

// isClosed reports whether nobody else can enter a directory.
func (t *trust) isClosed(at string, info fs.FileInfo) bool {
	perm := info.Mode().Perm()
	if perm&0o001 != 0 {
		return false
	}
	if perm&0o010 == 0 {
		return true
	}
	// With an ACL, the group bits are its mask.
	f, err := os.OpenFile(at, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	list, err := readACL(f)
	if err != nil {
		return false
	}
	for _, e := range list {
		switch {
		case e.Perm&Execute == 0 || e.Kind == aclOwner || e.Kind == aclMask:
		case e.Kind == aclUser && slices.Contains(t.users, int(e.ID)):
		default:
			return false
		}
	}
	return true
}
