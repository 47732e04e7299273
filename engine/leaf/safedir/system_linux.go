package safedir

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const aclAttribute = "system.posix_acl_access"

// readACL returns the ACL of a file or directory. The error is
// errors.ErrUnsupported if the file system has none.
func readACL(f *os.File) (acl, error) {
	buf := make([]byte, 1024)
	for {
		n, err := unix.Fgetxattr(int(f.Fd()), aclAttribute, buf)
		switch {
		case err == nil:
			return decodeACL(buf[:n])
		case errors.Is(err, unix.ENODATA):
			info, err := f.Stat()
			if err != nil {
				return nil, err
			}
			return modeACL(Perm(info.Mode().Perm())), nil
		case !errors.Is(err, unix.ERANGE):
			return nil, os.NewSyscallError("fgetxattr", err)
		}
		buf = make([]byte, 4*len(buf)) // the kernel's limit is 64 KiB
	}
}

func writeACL(f *os.File, a acl) error {
	return os.NewSyscallError("fsetxattr", unix.Fsetxattr(int(f.Fd()), aclAttribute, a.encode(), 0))
}

// isUnmapped reports whether a UID represents the users that a user namespace
// does not know, such as the machine's root in an unprivileged container; see
// user_namespaces(7).
func isUnmapped(uid int) bool {
	overflow, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil || strings.TrimSpace(string(overflow)) != strconv.Itoa(uid) {
		return false
	}
	table, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	return !isMapped(string(table), uid)
}

// isMapped reports whether a table like /proc/self/uid_map contains a UID, or
// cannot be read.
func isMapped(table string, uid int) bool {
	for line := range strings.Lines(table) {
		var first, outside, count int
		if _, err := fmt.Sscan(line, &first, &outside, &count); err != nil || first <= uid && uid < first+count {
			return true
		}
	}
	return false
}

// Unmount detaches a file system, even if a dying process still uses it.
func Unmount(path string) error { return unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) }

// ShortPath returns a path of a file in a directory that is short enough for a
// socket.
func ShortPath(dir *os.File, _, name string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), name)
}
