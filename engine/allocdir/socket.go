package allocdir

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// socketName is a socket's name until it is moved to its place.
const socketName = "s"

// ListenSecret listens at a socket among the secrets of a task, in place of
// what has that name. The owner, if there is one, is alone let in; otherwise
// all who can reach the socket are. Closing the listener leaves the socket: see
// RemoveSecret.
//
// The task may run and write there: the socket is made where only taskrun can,
// and moved as it is.
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
	if err := alloc.Mkdir(staging, 0o700); err != nil && !os.IsExist(err) { // one that a dead engine left serves
		return nil, err
	}
	defer alloc.RemoveAll(staging)
	_ = alloc.Remove(filepath.Join(staging, socketName))
	made, err := alloc.Open(staging)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short(made, filepath.Join(d.path, staging), socketName), Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	mode := os.FileMode(0o666)
	if owner != nil {
		mode = 0o600
		err = alloc.Lchown(filepath.Join(staging, socketName), owner.UID, -1)
	}
	if err == nil {
		err = alloc.Chmod(filepath.Join(staging, socketName), mode)
	}
	if err == nil {
		err = unix.Renameat(int(made.Fd()), socketName, int(secrets.Fd()), name)
	}
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("cannot make socket %q of task %q: %w", name, task, err)
	}
	return l, nil
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
