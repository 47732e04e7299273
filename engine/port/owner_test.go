package port

import "testing"

// A process that cannot be looked at is named by its user.
func TestOfUser(t *testing.T) {
	t.Parallel()
	for uid, want := range map[string]string{"0": "a process of user root", "4294967290": "a process of uid 4294967290"} {
		if got := ofUser(uid); got != want {
			t.Errorf("%s: %q, want %q", uid, got, want)
		}
	}
}

func TestFindListening(t *testing.T) {
	t.Parallel()
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 41234 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F91 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 41235 1 0000000000000000 20 4 30 10 -1
   2: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 777 1 0 100 0 0 10 0
   3: short
`
	for number, want := range map[int]socket{8080: {"41234", "1000"}, 80: {"777", "0"}, 8081: {}, 1: {}} {
		if got, ok := findListening(table, number); got != want || ok != (want != socket{}) {
			t.Errorf("port %d: %v, %v", number, got, ok)
		}
	}
}
