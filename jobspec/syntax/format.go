package syntax

import (
	"bytes"
	"encoding/json"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// IsJSON reports whether the first character other than white space is a brace,
// which no file in HCL's native syntax starts with.
func IsJSON(text []byte) bool {
	text = bytes.TrimPrefix(text, byteOrderMark)
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}

// IsAPI reports whether the text is a job as Nomad's HTTP API writes it: an
// object with a member "Job", or with both "ID" and "TaskGroups". HCL's JSON
// syntax has none of these, because its blocks are in lower case.
func IsAPI(text []byte) bool {
	if !IsJSON(text) {
		return false
	}
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, byteOrderMark)))
	_, _ = decoder.Token() // the brace
	var id, groups bool
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return false
		}
		id = id || name == "ID"
		groups = groups || name == "TaskGroups"
		if name == "Job" || id && groups {
			return true
		}
		if decoder.Decode(new(json.RawMessage)) != nil {
			return false
		}
	}
	return false
}
