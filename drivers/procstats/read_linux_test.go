package procstats

import (
	"testing"
	"time"
)

const statLine = "5 (a) Z (b) S 1 5 5 0 -1 4194304 132 0 0 0 250 75 9 9 20 0 1 0 466371 2560000 346 1844 9 8 7 0 0"

func TestParseStat(t *testing.T) {
	t.Parallel()
	want := reading{started: 4663710 * time.Millisecond, user: 2500 * time.Millisecond, system: 750 * time.Millisecond}
	if got, ok := parseStat([]byte(statLine)); !ok || got != want {
		t.Errorf("it is %+v, %v", got, ok)
	}
	for _, bad := range []string{
		"", ")", "5 (x) S 1 2", "5 (x) Z 1 5 5 0 -1 4194304 132 0 0 0 250 75 9 9 20 0 1 0 466371 2560000",
		"5 (x) S 1 5 5 0 -1 4194304 132 0 0 0 x 75 9 9 20 0 1 0 466371 2560000",
	} {
		if got, ok := parseStat([]byte(bad)); ok {
			t.Errorf("%q is %+v", bad, got)
		}
	}
}

func TestParseStatus(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]uint64{
		"Name:\tx\nVmRSS:\t    1234 kB\nVmSwap:\t       8 kB\nThreads:\t1\n": {1234 << 10, 8 << 10},
		"Name:\tkthread\nThreads:\t1\n":                                      {},
		"VmRSS:\t-1 kB\nVmSwap: 18446744073709551615 kB":                     {},
		"VmRSS:": {},
	} {
		if rss, swap := parseStatus([]byte(text)); rss != want[0] || swap != want[1] {
			t.Errorf("%q: %d, %d", text, rss, swap)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(statLine))
	f.Add([]byte("VmRSS:\t    1234 kB\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, ok := parseStat(text); ok && min(r.started, r.user, r.system) < 0 {
			t.Errorf("%q is %+v", text, r)
		}
		if rss, swap := parseStatus(text); rss%1024 != 0 || swap%1024 != 0 {
			t.Errorf("%q: %d, %d", text, rss, swap)
		}
	})
}
