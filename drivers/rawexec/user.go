package rawexec

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// account is the user that a task runs as.
type account struct {
	*user.User
	credential *syscall.Credential
}

// lookupAccount finds a user by name; it returns nil for "". As in Nomad, a
// name is never taken as a UID. Supplementary groups do not include group 0,
// even if the user is in it.
func lookupAccount(name string) (*account, error) {
	if name == "" {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("failed to identify user %q: %w", name, err)
	}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("cannot run as user %q: cannot look up its groups: %w", name, err)
	}
	a := &account{User: u, credential: &syscall.Credential{}}
	for i, text := range append([]string{u.Uid, u.Gid}, groups...) {
		id, err := parseID(text)
		switch {
		case err != nil:
			return nil, err
		case i == 0:
			a.credential.Uid = id
		case i == 1:
			a.credential.Gid = id
		case id != 0:
			a.credential.Groups = append(a.credential.Groups, id)
		}
	}
	return a, nil
}

func parseID(text string) (uint32, error) {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("cannot run as user or group %q: not a number: %w", text, err)
	}
	return uint32(id), nil
}

// isUs reports whether the account is that of this program, which is not root: only
// root may set the groups of a process, even to those it has.
func (a *account) isUs() bool {
	return os.Geteuid() != 0 && int(a.credential.Uid) == os.Geteuid()
}

// uids returns the account's UID, if there is an account.
func (a *account) uids() []int {
	if a == nil {
		return nil
	}
	return []int{int(a.credential.Uid)}
}

// ids returns the UID and the GIDs of the account or, if it is nil, of this
// program.
func (a *account) ids() (uid uint32, gids []uint32, err error) {
	if a != nil {
		return a.credential.Uid, append([]uint32{a.credential.Gid}, a.credential.Groups...), nil
	}
	groups, err := os.Getgroups()
	if err != nil {
		return 0, nil, fmt.Errorf("cannot look up the groups of this user: %w", err)
	}
	gids = []uint32{uint32(os.Getegid())}
	for _, group := range groups {
		gids = append(gids, uint32(group))
	}
	return uint32(os.Geteuid()), gids, nil
}
