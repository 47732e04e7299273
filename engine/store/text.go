package store

import (
	"encoding/json"
	"unicode/utf8"
)

// Text is a string that is stored byte for byte, even if it is not UTF-8, like
// some environment variables.
type Text string

type encoded struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON returns a JSON string if that preserves the text.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(encoded{[]byte(t)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *Text) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		var e encoded
		err := json.Unmarshal(text, &e)
		*t = Text(e.Base64)
		return err
	}
	return json.Unmarshal(text, (*string)(t))
}
