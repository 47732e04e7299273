package allocdir

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
)

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
