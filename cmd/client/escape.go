package client

import "io"

// Keys reads what a user types into a session and removes escape sequences. They
// start with the escape character at the beginning of a line:
//
//	~.   ends the session
//	~~   types one ~
//
// Before any other key, the escape character is typed normally. It is held back
// until the next key.
type Keys struct {
	Reader io.Reader
	Escape byte   // 0: there are no escape sequences
	Leave  func() // called for ~.

	inLine bool // there is text since the beginning of the line
	held   bool // an escape character waits for the next key
	left   bool
}

// Read implements io.Reader. After ~. it returns io.EOF.
func (k *Keys) Read(p []byte) (int, error) {
	if k.left {
		return 0, io.EOF
	}
	if k.Escape == 0 || len(p) < 2 {
		return k.Reader.Read(p)
	}
	for {
		n, err := k.Reader.Read(p[1:]) // the first byte is for an escape character held back
		n = k.filter(p, n)
		if k.left {
			return n, io.EOF
		}
		if err != nil && k.held {
			k.held = false
			p[n] = k.Escape // there is room: the character was read and not returned
			n++
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// filter moves n bytes from p[1:] to p without escape sequences, and returns how
// many bytes remain: at most one more.
func (k *Keys) filter(p []byte, n int) (typed int) {
	for _, key := range p[1 : n+1] {
		if k.held {
			k.held = false
			if key == '.' {
				k.left = true
				k.Leave()
				return typed
			}
			p[typed] = k.Escape
			typed++
			k.inLine = true
			if key == k.Escape {
				continue
			}
		} else if key == k.Escape && !k.inLine {
			k.held = true
			continue
		}
		p[typed] = key
		typed++
		k.inLine = key != '\r' && key != '\n'
	}
	return typed
}
