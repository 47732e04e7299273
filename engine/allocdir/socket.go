package allocdir

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketName is a socket's name until it is moved to its place.
const socketName = "s"

// ListenSecret listens at a socket among the secrets of a task, in place of
// what has that name. The owner, if there is one, is alone let in; otherwise
// all who can reach the socket are. Closing the listener leaves the socket: see
// RemoveSecret.
//
// Tasks may run and write around it: the socket is made in a directory that is
// the engine's alone, goes by its descriptor there, and is moved as it is.
func (d *Dir) ListenSecret(task, name string, owner *Owner) (_ *net.UnixListener, err error) {
	secrets, err := d.openSecrets(task)
	if err != nil {
		return nil, err
	}
	defer secrets.Close()
	alloc, err := d.Alloc()
	if err != nil {
		return nil, err
	}
	staging := "." + task + ".socket"
	made, err := openStaging(alloc, staging)
	if err != nil {
		return nil, fmt.Errorf("cannot make socket %q of task %q: %w", name, task, err)
	}
	defer func() { _ = alloc.Remove(staging) }() // an empty one that stays serves the next time
	defer made.Close()
	dir := int(made.Fd())
	_ = unix.Unlinkat(dir, socketName, 0)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short(made, filepath.Join(d.path, staging), socketName), Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	mode := uint32(0o666)
	if owner != nil {
		mode = 0o600
		err = unix.Fchownat(dir, socketName, owner.UID, -1, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err == nil {
		err = unix.Fchmodat(dir, socketName, mode, 0)
	}
	if err == nil {
		err = unix.Renameat(dir, socketName, int(secrets.Fd()), name)
	}
	if err != nil {
		_ = unix.Unlinkat(dir, socketName, 0)
		_ = l.Close()
		return nil, fmt.Errorf("cannot make socket %q of task %q: %w", name, task, err)
	}
	return l, nil
}

// openStaging makes and opens a directory that nobody but the engine can enter.
// One that a dead engine has left serves.
func openStaging(alloc *os.Root, name string) (*os.File, error) {
	if err := alloc.Mkdir(name, 0o700); err != nil && !os.IsExist(err) {
		return nil, err
	}
	dir, err := alloc.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat()
	if err == nil && (info.Mode().Perm() != 0o700 || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid()) {
		err = fmt.Errorf("%q is in the way", name)
	}
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

// RemoveSecret removes a file or socket among the secrets of a task.
func (d *Dir) RemoveSecret(task, name string) error {
	secrets, err := d.openSecrets(task)
	if err != nil {
		return err
	}
	defer secrets.Close()
	return unix.Unlinkat(int(secrets.Fd()), name, 0)
}

func (d *Dir) openSecrets(task string) (*os.File, error) {
	root, err := d.Secrets(task)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Open(".")
}
