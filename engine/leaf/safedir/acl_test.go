package safedir

import (
	"slices"
	"testing"
)

func TestACL(t *testing.T) {
	t.Parallel()
	list := modeACL(0o750).with(70, 5).with(7, 7).with(70, 1)
	want := acl{
		{aclOwner, 7, aclNoID}, {aclUser, 7, 7}, {aclUser, 1, 70}, {aclGroup, 5, aclNoID}, {aclMask, 7, aclNoID}, {aclOther, 0, aclNoID},
	}
	if !slices.Equal(list, want) {
		t.Errorf("%v, want %v", list, want)
	}
	again, err := decodeACL(list.encode())
	if err != nil || !slices.Equal(again, list) {
		t.Errorf("%v, %v", again, err)
	}
	for _, bad := range [][]byte{nil, {2, 0, 0}, {1, 0, 0, 0}, {2, 0, 0, 0, 1}} {
		if _, err := decodeACL(bad); err == nil {
			t.Errorf("%v was read", bad)
		}
	}
}
