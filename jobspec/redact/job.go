package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// secretFields are the fields of a job, by name, whose values may be secrets
// wherever they are. Of a map the keys remain.
var secretFields = []string{
	"Env", "Meta", "ConsulToken", "VaultToken", "NomadTokenID", "SecretID",
	"GetterHeaders", "Header", "Headers", "Body", "Credentials", "Params",
}

// secretOptions are parts of the names of options of drivers and others whose
// values may be secrets.
var secretOptions = []string{"auth", "credential", "key", "password", "secret", "token"}

// Job returns a job as JSON, without the values of its environment and of other
// settings that may be secret, and without the credentials of URLs. hide removes
// secrets that the caller knows from all other values.
func Job(j *api.Job, hide func(string) string) ([]byte, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&fields); err != nil {
		return nil, err
	}
	h := hider{func(s string) string { return Text(hide(s)) }}
	return json.Marshal(h.object(fields, false))
}

// A hider hides values of a job.
type hider struct{ text func(string) string }

// object hides values of an object. Options are those of a driver.
func (h hider) object(fields map[string]any, options bool) map[string]any {
	for name, value := range fields {
		switch {
		case name == "ID" || name == "Name":
			continue // that is how events and files refer to it
		case !options && slices.Contains(secretFields, name), options && secretOption(name):
			fields[name] = all(value)
		case name == "Payload":
			fields[name] = nil
		case name == "GetterSource":
			if source, ok := value.(string); ok {
				fields[name] = URL(h.text(source))
			}
		default:
			fields[name] = h.value(value, options || name == "Config" || name == "GetterOptions" || name == "Options")
		}
	}
	return fields
}

func (h hider) value(value any, options bool) any {
	switch v := value.(type) {
	case string:
		return h.text(v)
	case []any:
		for i := range v {
			v[i] = h.value(v[i], options)
		}
	case map[string]any:
		return h.object(v, options)
	}
	return value
}

func all(value any) any {
	switch v := value.(type) {
	case nil, bool:
		return v
	case map[string]any:
		for name := range v {
			v[name] = all(v[name])
		}
		return v
	case []any:
		for i := range v {
			v[i] = all(v[i])
		}
		return v
	case string:
		if v == "" {
			return v
		}
	}
	return Hidden
}

func secretOption(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretOptions, func(part string) bool { return strings.Contains(name, part) })
}
