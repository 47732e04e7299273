package store

import "strings"

// Key names something that is stored. It is made of parts, none of which holds
// a null character: neither can the names of jobs, groups and tasks.
type Key string

const separator = "\x00"

// KeyOf returns the key with these parts.
func KeyOf(parts ...string) Key { return Key(strings.Join(parts, separator)) }

// Parts returns what the key is made of.
func (k Key) Parts() []string { return strings.Split(string(k), separator) }

// below reports whether the key begins with the parts of another one.
func (k Key) below(other Key) bool {
	rest, ok := strings.CutPrefix(string(k), string(other))
	return ok && (rest == "" || strings.HasPrefix(rest, separator))
}
