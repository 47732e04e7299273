package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many links a path may lead through, as for the kernel.
const maxLinks = 40

// checkTrusted returns an error if another user could put something in the place
// of a path or of a directory above it. Each must belong to root or to this user
// and be writable by nobody else; in one with the sticky bit, such as /tmp,
// others can make files but replace none. What does not exist ends the look.
//
// What passed stays as it is: only root and this user can change it.
func checkTrusted(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	at, rest, links := "/", strings.Split(path, "/"), 0
	for {
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := checkDir(path, at, info); err != nil {
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
		at, rest = filepath.Join(at, rest[0]), rest[1:] // at has no links: ".." is the directory above
	}
}

// checkDir checks a directory, or a link, on the way to a path.
func checkDir(path, at string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("cannot find the owner of %q", at)
	}
	if uid := int(stat.Uid); uid != 0 && uid != os.Geteuid() && !isUnmapped(uid) {
		return fmt.Errorf("cannot use directory %q: %q belongs to another user (uid %d), who could replace it: choose another --data-dir", path, at, uid)
	}
	if !info.IsDir() || info.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	who, remedy := "", ""
	switch perm := info.Mode().Perm(); {
	case perm&0o002 != 0:
		who, remedy = "every user", "o-w"
	case perm&0o020 != 0 && stat.Gid != 0 && int(stat.Gid) != os.Getegid():
		who, remedy = fmt.Sprintf("group %d", stat.Gid), "g-w"
	default:
		return nil
	}
	return fmt.Errorf("cannot use directory %q: %s can write to %q, and could replace what is in it: choose another --data-dir, or `chmod %s %s`", path, who, at, remedy, at)
}
