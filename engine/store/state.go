package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
)

// The start of every state file. A program reads only the version that it
// writes; raise it when the format of records changes.
const (
	format  = "taskrun state"
	version = 2
)

// maxHeader is an upper limit of the length of a header, in bytes.
const maxHeader = 128

// header is the first line of a state file.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Records int    `json:"records,omitempty"` // of a ledger, when the file was made
}

// record is any other line: a set of changes.
type record struct {
	Seq  uint64                  `json:"seq"`            // of the latest event
	At   int64                   `json:"at"`             // offset of its lines in the history
	Drop []Key                   `json:"drop,omitempty"` // before Put
	All  []Key                   `json:"all,omitempty"`  // delete these and everything below them
	Put  map[Key]json.RawMessage `json:"put,omitempty"`
	Text string                  `json:"text,omitempty"` // lines of the history
}

// state is the result of all records of a state file.
type state struct {
	values map[Key]json.RawMessage
	live   int64 // bytes of keys and values
	seq    uint64
	at     int64
	text   string // text of the last record, which may be missing in the history
}

func newState() *state { return &state{values: map[Key]json.RawMessage{}} }

func (s *state) apply(r *record) {
	s.seq, s.at, s.text = r.Seq, r.At, r.Text
	for _, key := range r.Drop {
		s.drop(key)
	}
	if len(r.All) > 0 {
		for key := range s.values {
			if slices.ContainsFunc(r.All, key.below) {
				s.drop(key)
			}
		}
	}
	for key, value := range r.Put {
		if old, ok := s.values[key]; ok {
			s.live -= size(key, old)
		}
		s.live += size(key, value)
		s.values[key] = value
	}
}

func (s *state) drop(key Key) {
	if value, ok := s.values[key]; ok {
		s.live -= size(key, value)
		delete(s.values, key)
	}
}

func size(k Key, v json.RawMessage) int64 { return int64(len(k) + len(v)) }

// keys returns the keys below a prefix, sorted.
func (s *state) keys(prefix Key) []Key {
	keys := []Key{}
	for k := range s.values {
		if k.below(prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// decode reads the value of a key.
func decode(key Key, text json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // keep the numbers in task configs exact
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("cannot read record %q: %w", key.Parts(), err)
	}
	return nil
}

// snapshot returns the text of a file with this state.
func (s *state) snapshot() ([]byte, error) {
	text, err := appendLine(nil, header{Format: format, Version: version})
	if err != nil {
		return nil, err
	}
	return appendLine(text, &record{Seq: s.seq, At: s.at, Put: s.values, Text: s.text})
}

// appendLine adds a line: a checksum in hex, a space, and the value in JSON.
func appendLine(text []byte, value any) ([]byte, error) {
	line, err := json.Marshal(value)
	if err != nil {
		return text, err
	}
	text = fmt.Appendf(text, "%08x ", crc32.ChecksumIEEE(line))
	text = append(text, line...)
	return append(text, '\n'), nil
}

// Errors of unusable state files.
var (
	errForeign = errors.New("is not a state file of taskrun")
	errTorn    = errors.New("was not written to its end")
)

// readState returns the state in the text of a file, and the length of its
// valid part. A last line without an end is ignored: the program died while
// writing it, before acting on it. Anything else invalid is an error.
func readState(text []byte) (s *state, length int, err error) {
	var h header
	first, rest, whole := bytes.Cut(text, []byte("\n"))
	if !whole && len(text) < maxHeader {
		return nil, 0, errTorn
	}
	if readLine(first, &h) != nil || h.Format != format {
		return nil, 0, errForeign
	}
	if h.Version != version {
		return nil, 0, fmt.Errorf("has version %d, but this taskrun can only read version %d", h.Version, version)
	}
	s = newState()
	read, rest := s.read(rest, func(number int, _ []byte, damage error) {
		err = cmp.Or(err, fmt.Errorf("is damaged in line %d: %w", number, damage))
	})
	switch {
	case err != nil:
		return nil, 0, err
	case read == 0: // every file has a first record
		return nil, 0, errTorn
	}
	return s, len(text) - len(rest), nil
}

// read applies the records in the lines after the header, and calls damaged for those
// that cannot be read. It returns the number of lines, and what follows the last whole
// one.
func (s *state) read(text []byte, damaged func(number int, line []byte, err error)) (lines int, rest []byte) {
	for ; ; lines++ {
		line, after, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return lines, text
		}
		var r record
		if err := readLine(line, &r); err != nil {
			damaged(lines+2, line, err)
		} else {
			s.apply(&r)
		}
		text = after
	}
}

func readLine(line []byte, into any) error {
	sum, text, ok := bytes.Cut(line, []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if !ok || err != nil || len(sum) != 8 {
		return errors.New("no checksum")
	}
	if uint64(crc32.ChecksumIEEE(text)) != want {
		return errors.New("wrong checksum")
	}
	return json.Unmarshal(text, into)
}
