package safedir

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// Perm are permissions of an ACL entry.
type Perm uint16

// Permissions on a directory: to list it, to change it, and to pass through it.
const (
	Read    Perm = 4
	Write   Perm = 2
	Execute Perm = 1
)

// Kinds of ACL entries, as numbered by the kernel; see acl(5) and
// include/uapi/linux/posix_acl.h.
const (
	aclOwner = 0x01
	aclUser  = 0x02
	aclGroup = 0x04
	aclMask  = 0x10
	aclOther = 0x20

	aclVersion = 2
	aclNoID    = 0xffffffff
)

// aclEntry grants permissions to a kind of user, or to one user. Its fields
// have the order and the sizes of the attribute.
type aclEntry struct {
	Kind uint16
	Perm Perm
	ID   uint32 // of an aclUser; otherwise aclNoID
}

// acl is a POSIX access control list.
type acl []aclEntry

// modeACL returns the list that is equivalent to permission bits.
func modeACL(mode Perm) acl {
	return acl{
		{aclOwner, mode >> 6 & 7, aclNoID},
		{aclGroup, mode >> 3 & 7, aclNoID},
		{aclOther, mode & 7, aclNoID},
	}
}

// perm returns the permissions of a user with a UID, or 0 if the list does not
// contain the user.
func (a acl) perm(uid uint32) Perm {
	for _, e := range a {
		if e.Kind == aclUser && e.ID == uid {
			return e.Perm
		}
	}
	return 0
}

// with returns the list with an additional user. The mask, which limits users
// and groups, grows if necessary.
func (a acl) with(uid uint32, perm Perm) acl {
	list := slices.DeleteFunc(slices.Clone(a), func(e aclEntry) bool {
		return e.Kind == aclMask || e.Kind == aclUser && e.ID == uid
	})
	list = append(list, aclEntry{aclUser, perm, uid})
	var mask Perm
	for _, e := range list {
		if e.Kind != aclOwner && e.Kind != aclOther {
			mask |= e.Perm
		}
	}
	list = append(list, aclEntry{aclMask, mask, aclNoID})
	slices.SortFunc(list, func(a, b aclEntry) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// encode returns the value of the attribute system.posix_acl_access.
func (a acl) encode() []byte {
	b := binary.LittleEndian.AppendUint32(nil, aclVersion)
	b, _ = binary.Append(b, binary.LittleEndian, a) // fails only for types without a fixed size
	return b
}

// decodeACL reads the value of the attribute system.posix_acl_access.
func decodeACL(b []byte) (acl, error) {
	if len(b) < 4 || len(b)%8 != 4 || binary.LittleEndian.Uint32(b) != aclVersion {
		return nil, errors.New("unknown form of an ACL")
	}
	list := make(acl, len(b)/8)
	_, err := binary.Decode(b[4:], binary.LittleEndian, list)
	return list, err
}
