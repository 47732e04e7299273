package jobspec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/syntax"
	"taskrun/jobspec/visible"
)

// WriteJSON writes a job as `nomad job run -output` does: the object {"Job": …}
// indented by four spaces, with <, > and & escaped, and a final newline.
func WriteJSON(w io.Writer, job *api.Job) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "    ")
	if err := encoder.Encode(struct{ Job *api.Job }{job}); err != nil {
		return err
	}
	_, err := w.Write(visible.JSON(text.Bytes()))
	return err
}

// parseAPI reads a job in the form of Nomad's HTTP API: {"Job": …}, or the job
// itself. It does not normalize the job.
//
// See https://developer.hashicorp.com/nomad/api-docs/json-jobs.
func (p *parser) parseAPI() {
	if len(p.opts.Vars)+len(p.opts.VarFiles) > 0 {
		p.refuse(p.offsets(0, 1), "a job in the JSON of the API has no variables",
			"values are given for some, with --var or --var-file", "leave them out")
		return
	}
	if diags := syntax.CheckNesting(p.src.Text, p.src.Name, maxSource); diags.HasErrors() {
		p.report(diags...)
		return
	}
	// As in Nomad, anything after the first value is ignored.
	text := bytes.TrimPrefix(p.src.Text, []byte("\xef\xbb\xbf"))
	offset := len(p.src.Text) - len(text)
	var outer struct{ Job *api.Job }
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&outer); err != nil {
		p.report(p.explainJSON(err, offset))
		return
	}
	if p.file.Job = outer.Job; outer.Job == nil {
		p.file.Job = &api.Job{}
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(p.file.Job); err != nil {
			p.report(p.explainJSON(err, offset))
			return
		}
	}
	positions, nulls := positionsOfJSON(p.src, offset, p.file.Job)
	p.file.Positions = positions
	for _, at := range nulls {
		p.refuse(at.hcl(), "this block is null", "", "delete it")
	}
}

func (p *parser) explainJSON(err error, offset int) *hcl.Diagnostic {
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		at := offset + int(bad.Offset) - 1
		return diagnostic.Error(p.offsets(at, at+1), "invalid JSON", bad.Error(), "")
	}
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		_, name, _ := strings.Cut("."+mistyped.Field, ".Job.")
		remedy := ""
		if mistyped.Type.String() == "time.Duration" {
			remedy = "write the nanoseconds as a number"
		}
		return diagnostic.Error(p.scalarBefore(offset+int(mistyped.Offset)), fmt.Sprintf("%q cannot be a JSON %s", name, mistyped.Value),
			fmt.Sprintf("it is a %s", mistyped.Type), remedy)
	}
	return diagnostic.Error(p.offsets(len(p.src.Text), len(p.src.Text)), "invalid JSON", "it ends too early", "")
}

// scalarBefore returns the range of the JSON string or number that ends at an
// offset.
func (p *parser) scalarBefore(end int) hcl.Range {
	begin := bytes.LastIndexAny(p.src.Text[:max(0, end-1)], "\" \t\r\n,:[{")
	if begin >= 0 && p.src.Text[begin] != '"' {
		begin++
	}
	return p.offsets(max(0, begin), end)
}

// offsets returns the range between two offsets, which may lie outside of the text.
func (p *parser) offsets(from, to int) hcl.Range {
	size := len(p.src.Text)
	return syntax.RangeOf(p.src.Text, p.src.Name, min(max(from, 0), size), min(to, size))
}
