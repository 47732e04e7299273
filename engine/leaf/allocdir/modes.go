package allocdir

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"

	"taskrun/engine/leaf/safedir"
)

// entry is a directory to create. It belongs to the user who runs taskrun,
// except for those given to the task's user.
type entry struct {
	name    string
	mode    fs.FileMode
	guarded fs.FileMode // in a guarded allocation
	given   bool
}

func (e entry) in(guarded bool) fs.FileMode {
	if guarded {
		return e.guarded
	}
	return e.mode
}

// Every directory of an allocation with its mode. The directory of the allocation
// is a gate, closed to everyone else. As long as it is closed, the directories
// inside have Nomad's modes, except for secrets and private.
//
// The first task that may run as another user makes the allocation guarded: the
// users of its tasks may pass the gate, through its ACL, and the directory of each
// task becomes a gate, too. The engine's own files are then in directories where
// tasks can only replace their own files.
//
//	PATH             NOMAD'S  HERE  GUARDED
//	<alloc ID>       0755     0700  0700, and r-x for the users of tasks
//	  alloc          0777     0777  1777
//	    data, tmp    0777     0777  1777
//	    logs         0777     0777  0755
//	  <task>         0777     0777  0700; another user's: 1700, and rwx for that user
//	    local        0777     0777  0777, given to the user
//	    tmp          1777     1777  1777, given to the user
//	    secrets      0777     0700  0700, and rwx for the user; of a container: 0777
//	    private      0777     0700  0700
const (
	sticky      = fs.ModeSticky
	gateAccess  = safedir.Read | safedir.Execute
	ownerAccess = safedir.Read | safedir.Write | safedir.Execute
)

// logs is the path of the logs in an allocation.
const logs = "alloc/logs"

var sharedEntry = entry{name: "alloc", mode: 0o777, guarded: 0o777 | sticky}

var sharedEntries = []entry{
	{name: "data", mode: 0o777, guarded: 0o777 | sticky},
	{name: "logs", mode: 0o777, guarded: 0o755},
	{name: "tmp", mode: 0o777, guarded: 0o777 | sticky},
}

func taskEntry(task string) entry { return entry{name: task, mode: 0o777, guarded: safedir.Gate} }

var taskEntries = []entry{
	{name: "local", mode: 0o777, guarded: 0o777, given: true},
	{name: "tmp", mode: 0o777 | sticky, guarded: 0o777 | sticky, given: true},
	{name: "secrets", mode: 0o700, guarded: 0o700},
	{name: "private", mode: 0o700, guarded: 0o700},
}

// isolatedSecrets is the mode of the secrets of a container, whose users are
// unknown here.
const isolatedSecrets = 0o777

// Owner is the user and group that own a task's directories.
type Owner struct{ UID, GID int }

// OwnerOf returns the owner of the directories of a task that runs as a user,
// given by login name or UID. It is nil if they stay with the user of taskrun:
// without a user, and if taskrun is not root and cannot change the owner.
func OwnerOf(name string) (*Owner, error) {
	if name == "" || os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if byID, idErr := user.LookupId(name); err != nil && idErr == nil {
		u, err = byID, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find user %q: %w", name, err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, fmt.Errorf("cannot use user %q: uid %q is not a number", name, u.Uid)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, fmt.Errorf("cannot use user %q: gid %q is not a number", name, u.Gid)
	}
	return &Owner{UID: uid, GID: gid}, nil
}
