package template

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/safedir"
)

// write writes text to the destination of a template, atomically. It reports
// whether it changed anything: a file with the same content and owner is left
// alone.
func (t *spec) write(allocDir string, text []byte) (bool, error) {
	dir := allocdir.At(allocDir)
	defer func() { _ = dir.Close() }()
	root, dest, err := dir.Place(t.dest)
	if err != nil {
		return false, err
	}
	uid, gid := t.uid, t.gid
	if info, err := root.Lstat(dest); err == nil && info.Mode().IsRegular() {
		owner := info.Sys().(*syscall.Stat_t)
		same := (uid < 0 || uid == int(owner.Uid)) && (gid < 0 || gid == int(owner.Gid))
		if old, err := safedir.ReadFile(root, dest, maxSize); err == nil && bytes.Equal(old, text) && same {
			return false, nil
		}
		if os.Geteuid() == 0 { // only root can change the owner
			if uid < 0 {
				uid = int(owner.Uid)
			}
			if gid < 0 {
				gid = int(owner.Gid)
			}
		}
	}
	if err := root.MkdirAll(filepath.Dir(dest), 0o755); err != nil {
		return false, err
	}
	temp := filepath.Join(filepath.Dir(dest), ".template-"+strconv.FormatUint(rand.Uint64(), 36))
	if err := t.writeTemp(root, temp, text, uid, gid); err != nil {
		_ = root.Remove(temp)
		return false, err
	}
	if err := root.Rename(temp, dest); err != nil {
		_ = root.Remove(temp)
		return false, err
	}
	return true, nil
}

// writeTemp creates the file that replaces the destination. Other users cannot
// read it before it is complete.
func (t *spec) writeTemp(root *os.Root, temp string, text []byte, uid, gid int) error {
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && (uid >= 0 || gid >= 0) {
		if err = f.Chown(uid, gid); err != nil {
			err = fmt.Errorf("cannot give it to uid %d and gid %d: %w", uid, gid, err)
		}
	}
	if err == nil {
		err = f.Chmod(t.perms & fs.ModePerm)
	}
	return errors.Join(err, f.Close())
}
