package execwire_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/execwire"
)

func data(text string) *api.ExecStreamingIOOperation {
	return &api.ExecStreamingIOOperation{Data: []byte(text)}
}

var closed = &api.ExecStreamingIOOperation{Close: true}

// TestWrittenAsJSON compares written messages with those of encoding/json.
func TestWrittenAsJSON(t *testing.T) {
	for _, m := range []*api.ExecStreamingInput{
		{},
		{Stdin: data("a\x00\xff")},
		{Stdin: data("")},
		{Stdin: closed},
		{Stdin: &api.ExecStreamingIOOperation{Data: []byte("x"), Close: true}},
		{TTYSize: &api.TerminalSize{Height: 24, Width: 80}},
		{Stdin: data("x"), TTYSize: &api.TerminalSize{Height: 24, Width: 80}},
	} {
		got, err := execwire.AppendInput(nil, m)
		expectJSON(t, m, got, err)
	}
	for _, m := range []*api.ExecStreamingOutput{
		{},
		{Stdout: data("out")},
		{Stderr: data("err")},
		{Stdout: data("out"), Stderr: data("err")},
		{Stdout: closed},
		{Stderr: closed},
		{Exited: true, Result: &api.ExecStreamingExitResult{ExitCode: 3}},
		{Stdout: data("out"), Exited: true},
		{Stdout: data("out"), Result: &api.ExecStreamingExitResult{}},
	} {
		got, err := execwire.AppendOutput(nil, m)
		expectJSON(t, m, got, err)
	}
}

func expectJSON(t *testing.T, m any, got []byte, err error) {
	t.Helper()
	want, wantErr := json.Marshal(m)
	if err != nil || wantErr != nil || string(got) != string(want) {
		t.Errorf("%s, %v, want %s, %v", got, err, want, wantErr)
	}
}

// FuzzParse compares parsed messages and errors with those of encoding/json.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"stdin":{"data":"YQ=="}}`, `{"stdout":{"data":"YWJj"}}`, `{"stderr":{"data":""}}`,
		`{"stdin":{"data":"YQ==","close":true}}`, `{"stdout":{"data":"YQ"}}`, `{"stdout":{"data":"Y\nQ=="}}`,
		"{\"stdout\":{\"data\":\"Y\nQ==\"}}", "{\"stdout\":{\"data\":\"\nYQ==\"}}", "{\"stdin\":{\"data\":\"\rYQ==\"}}", `{"stdout":{"data":"\u0059Q=="}}`, `{"stdout":{"data":"a"}},"}}`,
		`{"tty_size":{"height":1,"width":2}}`, `{"exited":true,"result":{"exit_code":1}}`, `{"stdin":null}`, `null`, ``, `{"stdin":{"data":"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		in, err := execwire.ParseInput(text)
		var wantIn api.ExecStreamingInput
		compare(t, in, &wantIn, err, json.Unmarshal(text, &wantIn))
		out, err := execwire.ParseOutput(text)
		var wantOut api.ExecStreamingOutput
		compare(t, out, &wantOut, err, json.Unmarshal(text, &wantOut))
	})
}

func compare(t *testing.T, got, want any, err, wantErr error) {
	t.Helper()
	if (err == nil) != (wantErr == nil) {
		t.Errorf("error %v, want %v", err, wantErr)
	}
	if diff := cmp.Diff(want, got); err == nil && diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func BenchmarkParseOutput(b *testing.B) {
	text, err := execwire.AppendOutput(nil, &api.ExecStreamingOutput{Stdout: &api.ExecStreamingIOOperation{Data: make([]byte, 32<<10)}})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(32 << 10)
	for b.Loop() {
		if _, err := execwire.ParseOutput(text); err != nil {
			b.Fatal(err)
		}
	}
}
