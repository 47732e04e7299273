package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"taskrun/engine/leaf/safedir"
)

// guard makes the allocation guarded, for good; see modes.go. So far, only
// tasks of the user who runs taskrun can have been started.
func (d *Dir) guard(gate *os.Root) error {
	if d.guarded {
		return nil
	}
	shared, err := d.getLocked(sharedEntry.name)
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(gate.FS(), ".")
	for _, e := range entries {
		if err == nil && e.Name() != sharedEntry.name {
			if err = gate.Chmod(e.Name(), safedir.Gate); errors.Is(err, fs.ErrNotExist) {
				err = nil // a temporary file, not the directory of a task
			}
		}
	}
	for _, e := range sharedEntries {
		if err == nil {
			err = shared.Chmod(e.name, e.guarded)
		}
	}
	if err == nil { // last, because it tells a later engine that everything is done
		err = gate.Chmod(sharedEntry.name, sharedEntry.guarded)
	}
	if err != nil {
		return fmt.Errorf("cannot protect the directories in %q: %w", d.path, err)
	}
	d.guarded = true
	return nil
}

// admit opens the gates of a task's directory and of the allocation for the
// task's user. Without an owner they stay closed to others.
func (d *Dir) admit(gate, dir *os.Root, task string, owner *Owner) error {
	var err error
	switch {
	case d.gateUID != os.Geteuid():
		err = errAlone
		if owner != nil && owner.UID == d.gateUID {
			err = giveTask(dir, owner)
		}
	case owner != nil:
		err = letTaskIn(gate, dir, owner.UID)
		if errors.Is(err, errors.ErrUnsupported) {
			if err = admitAlone(gate, dir, task, owner); err == nil {
				d.gateUID = owner.UID
			}
		}
	}
	if err != nil {
		return fmt.Errorf("cannot protect the directories of task %q in %q: %w", task, d.path, err)
	}
	return nil
}

// letTaskIn opens the gates, that of the task last. Because of the sticky bit,
// the user can only replace files that it owns.
func letTaskIn(gate, dir *os.Root, uid int) error {
	if err := safedir.LetIn(gate, ".", safedir.Gate, uid, gateAccess); err != nil {
		return err
	}
	if err := safedir.LetIn(dir, "secrets", safedir.Gate, uid, ownerAccess); err != nil {
		return err
	}
	return safedir.LetIn(dir, ".", safedir.Gate|sticky, uid, ownerAccess)
}

var errAlone = errors.New("the file system has no POSIX ACLs, and the tasks have different users: give all tasks of the group the same user, or choose another --data-dir")

// admitAlone changes the owner of the gates to the user of a task if the file
// system has no ACLs. That protects them from others as long as no task of the
// allocation has another user.
func admitAlone(gate, dir *os.Root, task string, owner *Owner) error {
	entries, err := fs.ReadDir(gate.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != sharedEntry.name && e.Name() != task {
			return errAlone
		}
	}
	return errors.Join(giveTask(dir, owner), gate.Lchown(".", owner.UID, owner.GID))
}

func giveTask(dir *os.Root, owner *Owner) error {
	return errors.Join(dir.Lchown("secrets", owner.UID, owner.GID), dir.Lchown(".", owner.UID, owner.GID))
}
