package store

import "strings"

// Key names a stored record. It consists of parts without null characters,
// which names of jobs, groups and tasks cannot contain.
type Key string

const separator = "\x00"

// KeyOf returns the key with these parts.
func KeyOf(parts ...string) Key { return Key(strings.Join(parts, separator)) }

// Parts returns the parts of the key.
func (k Key) Parts() []string { return strings.Split(string(k), separator) }

// below reports whether the key starts with the parts of another one.
func (k Key) below(other Key) bool {
	rest, ok := strings.CutPrefix(string(k), string(other))
	return ok && (rest == "" || strings.HasPrefix(rest, separator))
}
