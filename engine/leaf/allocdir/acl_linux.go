package allocdir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const aclAttribute = "system.posix_acl_access"

// readACL returns the ACL of a file or directory. The error is
// errors.ErrUnsupported where the file system has none.
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
			return modeACL(uint16(info.Mode().Perm())), nil
		case !errors.Is(err, unix.ERANGE):
			return nil, os.NewSyscallError("fgetxattr", err)
		}
		buf = make([]byte, 4*len(buf)) // the kernel's limit is 64 KiB
	}
}

func writeACL(f *os.File, a acl) error {
	return os.NewSyscallError("fsetxattr", unix.Fsetxattr(int(f.Fd()), aclAttribute, a.encode(), 0))
}
