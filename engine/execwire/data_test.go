package execwire

import (
	"testing"

	"github.com/hashicorp/nomad/api"
)

// Messages with only data, the most frequent ones of a session, bypass
// encoding/json.
func TestDataMessagesSkipJSON(t *testing.T) {
	t.Parallel()
	text, err := AppendInput(nil, &api.ExecStreamingInput{Stdin: &api.ExecStreamingIOOperation{Data: []byte("data")}})
	if err != nil {
		t.Fatal(err)
	}
	if data, ok := parseData(text, stdinHead); !ok || string(data) != "data" {
		t.Errorf("%s is %q, %t", text, data, ok)
	}
	if data, ok := parseData(text, stdoutHead); ok {
		t.Errorf("%s is output %q", text, data)
	}
}
