package exit

import (
	"encoding/json"
	"errors"
)

// packed is an error on its way from one taskrun to another.
type packed struct {
	Code int
	Text string
	Hint string
}

// Error returns the error as JSON.
func (e *packed) Error() string {
	text, err := json.Marshal(e)
	if err != nil {
		return e.Text
	}
	return string(text)
}

// Pack returns an error whose text tells another taskrun the code and the remedy of
// err, too. It returns nil for nil, and for an error that was already reported.
func Pack(err error) error {
	known, ok := errors.AsType[*Error](err)
	switch {
	case err == nil || ok && known.Err == nil:
		return nil
	case ok:
		return &packed{Code: known.Code, Text: err.Error(), Hint: known.Hint}
	}
	return &packed{Code: Code(err), Text: err.Error()}
}

// Unpack returns the error that another taskrun has packed, or nil if the text of err
// is something else.
func Unpack(err error) *Error {
	var p packed
	if json.Unmarshal([]byte(err.Error()), &p) != nil {
		return nil
	}
	return &Error{Code: p.Code, Err: errors.New(p.Text), Hint: p.Hint}
}
