package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/safedir"
)

// A volume without a folder of its own is a directory inside a gate.
const (
	volumeData = "data"
	volumeMode = 0o777 | fs.ModeSticky
)

// VolumeDir returns the directory of a volume without a folder of its own,
// named after its source. It belongs to no run, and only CleanVolumes removes
// it.
func VolumeDir(dataDir, source string) string {
	return filepath.Join(dataDir, "host_volumes", escape(source), volumeData)
}

// MakeVolume creates the directory of a volume and returns it; an existing one
// is left alone. The directory above it is closed to other users, except for
// the owner, if there is one, and those of earlier calls. Several programs may
// do this concurrently.
func MakeVolume(dataDir, source string, owner *allocdir.Owner) (string, error) {
	dir := VolumeDir(dataDir, source)
	path := filepath.Dir(dir)
	if err := safedir.MakePrivate(filepath.Dir(path)); err != nil {
		return "", err
	}
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	defer parent.Close()
	if _, err := safedir.Make(parent, filepath.Dir(path), filepath.Base(path), safedir.Gate); err != nil {
		return "", err
	}
	gate, _, err := safedir.Open(parent, filepath.Base(path))
	if err != nil {
		return "", fmt.Errorf("cannot open directory %q: %w", path, err)
	}
	defer gate.Close()
	if err := adopt(filepath.Join(dataDir, "volumes", escape(source)), gate, dir); err != nil {
		return "", err
	}
	if _, err := safedir.Make(gate, path, volumeData, volumeMode); err != nil {
		return "", err
	}
	if owner == nil || owner.UID == os.Geteuid() {
		return dir, nil
	}
	err = safedir.LetIn(gate, ".", safedir.Gate, owner.UID, safedir.Read|safedir.Execute)
	if errors.Is(err, errors.ErrUnsupported) {
		err = errors.New("its file system has no POSIX ACLs: choose another --data-dir")
	}
	if err != nil {
		return "", fmt.Errorf("cannot give user %d access to directory %q: %w", owner.UID, path, err)
	}
	return dir, nil
}

// adopt moves a volume from the place used by earlier versions of taskrun,
// unless there is a new one. The move is atomic, so only one of several
// programs succeeds, and it can only replace an empty directory.
func adopt(old string, gate *os.Root, dir string) error {
	if _, err := gate.Lstat(volumeData); err == nil {
		return nil
	}
	info, err := os.Lstat(old)
	if err != nil || !info.IsDir() {
		return nil
	}
	err = os.Rename(old, dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return nil // another program was faster
	}
	if err == nil && info.Mode().Perm() == volumeMode.Perm() {
		err = gate.Chmod(volumeData, volumeMode)
	}
	if err != nil {
		return fmt.Errorf("cannot move volume %q to %q: %w", old, dir, err)
	}
	return nil
}

// VolumeAttributes are those of the directory of a volume. A mode of 0, and IDs
// of -1, change nothing.
type VolumeAttributes struct {
	Mode     fs.FileMode
	UID, GID int
}

// CreateVolume is MakeVolume for tasks of any user of a container, with
// attributes for the directory.
func CreateVolume(dataDir, source string, a VolumeAttributes) error {
	dir, err := MakeVolume(dataDir, source, nil)
	if err != nil {
		return err
	}
	gate, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer gate.Close()
	if a.UID != -1 || a.GID != -1 {
		if err := gate.Chown(volumeData, a.UID, a.GID); err != nil {
			return fmt.Errorf("cannot change the owner of volume %q: %w", source, err)
		}
	}
	if a.Mode == 0 {
		return nil
	}
	if err := gate.Chmod(volumeData, a.Mode); err != nil {
		return fmt.Errorf("cannot change the mode of volume %q: %w", source, err)
	}
	return nil
}

// RemoveVolume removes the directory of a volume with all that is in it. It
// refuses one in which something is mounted. A missing one is no error.
func RemoveVolume(dataDir, source string) error {
	return safedir.RemoveIn(dataDir, filepath.Join("host_volumes", escape(source)))
}
