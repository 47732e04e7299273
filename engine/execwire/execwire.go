// Package execwire reads and writes the messages of an exec session, the JSON
// of api.ExecStreamingInput and api.ExecStreamingOutput.
//
// Most messages have one of two shapes, {"stdout":{"data":"…"}} and
// {"stdin":{"data":"…"}}. Those are encoded without encoding/json, which takes
// several times as long. It handles all other messages, and those with spaces
// or another order of keys.
package execwire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"github.com/hashicorp/nomad/api"
)

const (
	stdinHead  = `{"stdin":{"data":"`
	stdoutHead = `{"stdout":{"data":"`
	stderrHead = `{"stderr":{"data":"`
	tail       = `"}}`
)

// AppendInput appends a message to an engine to dst.
func AppendInput(dst []byte, m *api.ExecStreamingInput) ([]byte, error) {
	if isData(m.Stdin) && m.TTYSize == nil {
		return appendData(dst, stdinHead, m.Stdin.Data), nil
	}
	return appendJSON(dst, m)
}

// AppendOutput appends a message to a client to dst.
func AppendOutput(dst []byte, m *api.ExecStreamingOutput) ([]byte, error) {
	switch plain := !m.Exited && m.Result == nil; {
	case plain && isData(m.Stdout) && m.Stderr == nil:
		return appendData(dst, stdoutHead, m.Stdout.Data), nil
	case plain && isData(m.Stderr) && m.Stdout == nil:
		return appendData(dst, stderrHead, m.Stderr.Data), nil
	}
	return appendJSON(dst, m)
}

// ParseInput reads a message to an engine.
func ParseInput(text []byte) (*api.ExecStreamingInput, error) {
	if data, ok := parseData(text, stdinHead); ok {
		return &api.ExecStreamingInput{Stdin: &api.ExecStreamingIOOperation{Data: data}}, nil
	}
	m := &api.ExecStreamingInput{}
	return m, json.Unmarshal(text, m)
}

// ParseOutput reads a message to a client.
func ParseOutput(text []byte) (*api.ExecStreamingOutput, error) {
	if data, ok := parseData(text, stdoutHead); ok {
		return &api.ExecStreamingOutput{Stdout: &api.ExecStreamingIOOperation{Data: data}}, nil
	}
	if data, ok := parseData(text, stderrHead); ok {
		return &api.ExecStreamingOutput{Stderr: &api.ExecStreamingIOOperation{Data: data}}, nil
	}
	m := &api.ExecStreamingOutput{}
	return m, json.Unmarshal(text, m)
}

// isData reports whether the message has nothing but data.
func isData(op *api.ExecStreamingIOOperation) bool {
	return op != nil && len(op.Data) > 0 && !op.Close
}

func appendData(dst []byte, head string, data []byte) []byte {
	dst = append(dst, head...)
	dst = base64.StdEncoding.AppendEncode(dst, data)
	return append(dst, tail...)
}

func appendJSON(dst []byte, m any) ([]byte, error) {
	text, err := json.Marshal(m)
	return append(dst, text...), err
}

// parseData returns the data of a message that contains nothing else. It leaves
// all other messages, including invalid ones, to encoding/json.
func parseData(text []byte, head string) ([]byte, bool) {
	text, ok := bytes.CutPrefix(text, []byte(head))
	if !ok {
		return nil, false
	}
	text, ok = bytes.CutSuffix(text, []byte(tail))
	if !ok || bytes.IndexByte(text, '\n') >= 0 || bytes.IndexByte(text, '\r') >= 0 {
		return nil, false // base64 may contain line breaks, a JSON string may not
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(data, text)
	return data[:n], err == nil
}
