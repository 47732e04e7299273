package allocdir

import "golang.org/x/sys/unix"

// unmount detaches a file system, even if a dying process still uses it.
func unmount(path string) error { return unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) }
