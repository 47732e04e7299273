package jobspec

import (
	"encoding/json"
	"io"

	"github.com/hashicorp/nomad/api"
)

// WriteJSON writes a job as `nomad job run -output` does: the object {"Job": …}
// indented by four spaces, with <, > and & escaped, and a final newline.
func WriteJSON(w io.Writer, job *api.Job) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "    ")
	return encoder.Encode(struct{ Job *api.Job }{job})
}

func (p *parser) parseAPI(src Source) Problems {
	var outer struct{ Job *api.Job }
	if err := json.Unmarshal(src.Text, &outer); err != nil {
		return Problems{{Summary: err.Error()}}
	}
	p.file.Job = outer.Job
	return nil
}
