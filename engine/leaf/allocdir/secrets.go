package allocdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/safedir"
)

// socketName is a socket's temporary name.
const socketName = "s"

// ListenSecret listens at a socket in the secrets directory of a task,
// replacing an existing file. If there is an owner, only the owner can connect;
// otherwise everyone who can reach the socket. Closing the listener leaves the
// socket: see RemoveSecret.
//
// If tasks of other users may be running with write access around it, the
// socket is created in a directory that only the engine can access, by the
// directory's descriptor, and then moved.
func (d *Dir) ListenSecret(task, name string, owner *Owner) (*net.UnixListener, error) {
	l, err := d.listenSecret(task, name, owner)
	if err != nil {
		return nil, fmt.Errorf("cannot make socket %q of task %q: %w", name, task, err)
	}
	return l, nil
}

func (d *Dir) listenSecret(task, name string, owner *Owner) (*net.UnixListener, error) {
	secrets, err := d.openSecrets(task)
	if err != nil {
		return nil, err
	}
	defer secrets.Close()
	if owner == nil && isOurs(secrets) {
		return listen(secrets, filepath.Join(d.path, task, "secrets"), name, nil)
	}
	alloc, err := d.Alloc()
	if err != nil {
		return nil, err
	}
	staging := "." + task + ".socket"
	made, err := openStaging(alloc, staging)
	if err != nil {
		return nil, err
	}
	defer func() { _ = alloc.Remove(staging) }() // an empty one that stays is reused
	defer made.Close()
	l, err := listen(made, filepath.Join(d.path, staging), socketName, owner)
	if err != nil {
		return nil, err
	}
	if err := unix.Renameat(int(made.Fd()), socketName, int(secrets.Fd()), name); err != nil {
		_ = unix.Unlinkat(int(made.Fd()), socketName, 0)
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// listen listens at a socket in an open directory in which nobody else can
// write, replacing an existing file.
func listen(dir *os.File, path, name string, owner *Owner) (*net.UnixListener, error) {
	fd := int(dir.Fd())
	_ = unix.Unlinkat(fd, name, 0)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: safedir.ShortPath(dir, path, name), Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	mode := uint32(0o666)
	if owner != nil {
		mode = 0o600
		err = unix.Fchownat(fd, name, owner.UID, -1, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err == nil {
		err = unix.Fchmodat(fd, name, mode, 0)
	}
	if err != nil {
		_ = unix.Unlinkat(fd, name, 0)
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// DialSocket connects to a socket in a directory, however long its path is.
func DialSocket(ctx context.Context, dir, name string) (*net.UnixConn, error) {
	opened, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	return new(net.Dialer).DialUnix(ctx, "unix", nil, &net.UnixAddr{Name: safedir.ShortPath(opened, dir, name), Net: "unix"})
}

// isOurs reports whether only the engine's user can enter a directory. An ACL
// for others shows in the mode of the group.
func isOurs(dir *os.File) bool {
	info, err := dir.Stat()
	return err == nil && info.Mode().Perm() == 0o700 && safedir.UIDOf(info) == os.Geteuid()
}

// openStaging creates and opens a directory that only the engine can enter. It
// reuses one that a dead engine has left.
func openStaging(alloc *os.Root, name string) (*os.File, error) {
	if err := alloc.Mkdir(name, 0o700); err != nil && !os.IsExist(err) {
		return nil, err
	}
	dir, err := alloc.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if !isOurs(dir) {
		_ = dir.Close()
		return nil, fmt.Errorf("%q is in the way", name)
	}
	return dir, nil
}

// RemoveSecret removes a file or socket from the secrets directory of a task.
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

// WriteSecret writes a file that only the task's user may read; name is
// relative to the task's directory, which no link can leave. It replaces the
// file atomically.
func (d *Dir) WriteSecret(task, name string, text []byte, owner *Owner) error {
	return d.replace(task, name, text, 0o600, owner)
}

// WriteToken is like WriteSecret for the token of a workload identity, with
// Nomad's mode and group: without an owner, everyone who can reach the file may
// read it.
func (d *Dir) WriteToken(task, name string, text []byte, owner *Owner) error {
	if owner == nil {
		return d.replace(task, name, text, 0o644, nil)
	}
	return d.replace(task, name, text, 0o600, &Owner{UID: owner.UID, GID: -1})
}

// WriteFile is like WriteSecret for a file that everyone who can reach it may
// read and execute.
func (d *Dir) WriteFile(task, name string, text []byte) error {
	return d.replace(task, name, text, 0o755, nil)
}

func (d *Dir) replace(task, name string, text []byte, mode fs.FileMode, owner *Owner) error {
	root, err := d.Task(task)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	temp := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".new")
	if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.Write(text)
		if err == nil && owner != nil {
			err = f.Chown(owner.UID, owner.GID)
		}
		if err == nil && mode != 0o600 {
			err = f.Chmod(mode)
		}
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	return nil
}
