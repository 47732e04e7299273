package client

import "io"

// Keys are what a user types into a session, without the escape sequences for
// this side. Those begin with the escape character at the beginning of a line:
//
//	~.   ends the session
//	~~   types one ~
//
// Behind any other key the escape character is typed as it is. An escape
// character waits for the next key.
type Keys struct {
	Reader io.Reader
	Escape byte   // 0: there are no escape sequences
	Leave  func() // is called for ~.

	inLine bool // there is text since the beginning of the line
	asked  bool // an escape character waits for the next key
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
		n, err := k.Reader.Read(p[1:]) // the first is for an escape character that waits
		n = k.filter(p, n)
		if k.left {
			return n, io.EOF
		}
		if err != nil && k.asked {
			k.asked = false
			p[n] = k.Escape // there is room: it was read and not returned
			n++
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// filter takes n bytes from p[1:] and puts what is typed of them into p. It
// returns how many these are, at most one more.
func (k *Keys) filter(p []byte, n int) (typed int) {
	for _, key := range p[1 : n+1] {
		if k.asked {
			k.asked = false
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
			k.asked = true
			continue
		}
		p[typed] = key
		typed++
		k.inLine = key != '\r' && key != '\n'
	}
	return typed
}
