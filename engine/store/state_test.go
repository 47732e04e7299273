package store

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/leaf/event"
)

func TestReadLine(t *testing.T) {
	t.Parallel()
	text := `{"seq":7}`
	sum := crc32.ChecksumIEEE([]byte(text))
	for name, tt := range map[string]struct{ line, want string }{
		"right":         {fmt.Sprintf("%08x %s", sum, text), ""},
		"another sum":   {fmt.Sprintf("%08x %s", sum+1, text), "wrong checksum"},
		"a long sum":    {fmt.Sprintf("%09x %s", sum, text), "no checksum"},
		"a short sum":   {fmt.Sprintf("%07x %s", sum>>4, text), "no checksum"},
		"no space":      {fmt.Sprintf("%08x", sum), "no checksum"},
		"no hex digits": {"xxxxxxxx " + text, "no checksum"},
		"no JSON":       {fmt.Sprintf("%08x x", crc32.ChecksumIEEE([]byte("x"))), "invalid character"},
		"nothing":       {"", "no checksum"},
	} {
		var r record
		err := readLine([]byte(tt.line), &r)
		if tt.want == "" && (err != nil || r.Seq != 7) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %d, %v; want %q", name, r.Seq, err, tt.want)
		}
	}
}

// TestStateKnowsItsSize changes a state at random and counts its content.
func TestStateKnowsItsSize(t *testing.T) {
	t.Parallel()
	random, s := rand.New(rand.NewPCG(1, 2)), newState()
	for range 1000 {
		key := KeyOf(fmt.Sprint(random.IntN(3)), fmt.Sprint(random.IntN(10)))
		var r record
		switch random.IntN(10) {
		case 0:
			r.All = []Key{KeyOf(fmt.Sprint(random.IntN(3)))}
		case 1:
			r.Drop = []Key{key}
		default:
			r.Put = map[Key]json.RawMessage{key: make([]byte, random.IntN(100))}
		}
		s.apply(&r)
		var want int64
		for key, value := range s.values {
			want += int64(len(key) + len(value))
		}
		if s.live != want {
			t.Fatalf("%d bytes, want %d, after %v", s.live, want, r)
		}
	}
}

// TestDropComesBeforePut replaces everything below a key in one change.
func TestDropComesBeforePut(t *testing.T) {
	t.Parallel()
	r, dir := create(t, &event.Bus{})
	put(r, KeyOf("a", "1"), 1)
	put(r, KeyOf("b", "1"), 1)
	var c Change
	c.Put(KeyOf("a", "2"), 2)
	c.Put(KeyOf("b", "1"), 2)
	c.DropAll(KeyOf("a"))
	c.Drop(KeyOf("b", "1"))
	r.Commit(c)
	back := reopen(t, r, dir)
	if got := fmt.Sprintf("%q", append(back.Keys("a"), back.Keys("b")...)); got != `["a\x002" "b\x001"]` {
		t.Errorf("stored: %s", got)
	}
	var n int
	if ok, err := back.Get(KeyOf("b", "1"), &n); !ok || err != nil || n != 2 {
		t.Errorf("%d, %v, %v", n, ok, err)
	}
}

// TestLargeStateIsRarelyRewritten stores a value of 1 MiB repeatedly: the file
// is rewritten only when it is more than four times as large.
func TestLargeStateIsRarelyRewritten(t *testing.T) {
	t.Parallel()
	r, dir := create(t, &event.Bus{})
	value, file, made := strings.Repeat("x", compactAt), r.journal.file, []int{}
	for n := range 13 {
		put(r, "a", value)
		if r.journal.file != file {
			file, made = r.journal.file, append(made, n)
		}
		info, err := os.Stat(filepath.Join(dir, stateDir, stateFile))
		if err != nil || info.Size() != r.journal.size {
			t.Fatalf("the size is %d, want %d, %v", r.journal.size, info.Size(), err)
		}
	}
	// Four records are a little more than four values.
	if got := fmt.Sprint(made); got != "[4 8 12]" {
		t.Errorf("made by the records %s", got)
	}
	var got string
	if ok, err := reopen(t, r, dir).Get("a", &got); !ok || err != nil || got != value {
		t.Errorf("the value has %d bytes, %v", len(got), err)
	}
}
