package client

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestKeysAfterTheEscapeCharacter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, typed, want string
		left              bool
	}{
		{"plain", "ls -l\r", "ls -l\r", false},
		{"leave at once", "~.rest", "", true},
		{"leave behind a line", "ls\r~.rest", "ls\r", true},
		{"behind a newline too", "ls\n~.", "ls\n", true},
		{"not in a line", "a~.\r", "a~.\r", false},
		{"the character itself", "~~.\r", "~.\r", false},
		{"another key", "~x~.\r", "~x~.\r", false},
		{"home", "cd ~\r~/x\r", "cd ~\r~/x\r", false},
		{"a line of one", "~\r~.", "~\r", true},
		{"at the end", "~", "~", false},
		{"twice at the end", "\r~~", "\r~", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for how, source := range map[string]io.Reader{
				"at once":      strings.NewReader(c.typed),
				"key by key":   iotest.OneByteReader(strings.NewReader(c.typed)),
				"with the end": iotest.DataErrReader(strings.NewReader(c.typed)),
			} {
				left := false
				k := &Keys{Reader: source, Escape: '~', Leave: func() { left = true }}
				got, err := io.ReadAll(k)
				if err != nil || string(got) != c.want || left != c.left {
					t.Errorf("%s: %q, left %v, %v; want %q, %v", how, got, left, err, c.want, c.left)
				}
			}
		})
	}
}

func TestNoEscapeCharacter(t *testing.T) {
	t.Parallel()
	k := &Keys{Reader: strings.NewReader("~.\r~."), Leave: func() { t.Error("left") }}
	if got, err := io.ReadAll(k); err != nil || string(got) != "~.\r~." {
		t.Errorf("%q, %v", got, err)
	}
}

// FuzzKeys compares reading in pieces with reading everything at once.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("ls\r~~x\r~."), 3)
	f.Add([]byte("~~~\n~~~~."), 2)
	f.Add([]byte("ls\r~~x\r~."), 0)
	f.Fuzz(func(t *testing.T, typed []byte, size int) {
		whole, err := io.ReadAll(&Keys{Reader: bytes.NewReader(typed), Escape: '~', Leave: func() {}})
		if err != nil {
			t.Fatal(err)
		}
		var pieces []byte
		k := &Keys{Reader: bytes.NewReader(typed), Escape: '~', Leave: func() {}}
		buf := make([]byte, 2+max(0, size)%64)
		for {
			n, err := k.Read(buf)
			pieces = append(pieces, buf[:n]...)
			if err != nil {
				break
			}
		}
		if !bytes.Equal(whole, pieces) {
			t.Errorf("at once %q, in pieces of %d %q", whole, len(buf), pieces)
		}
	})
}
