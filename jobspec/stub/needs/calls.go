package needs

import (
	"slices"
	"strings"

	"taskrun/jobspec/stub"
)

// Call is a call in a template of a function whose result a stub provides.
type Call struct {
	stub.Need
	Function string
	// Argument is the source of a computed argument; Label is empty then.
	Argument string
	Line     int // in the text, from 1
	// Items are the keys that the template uses from the result.
	Items []string
	// Samples are values that the template can use, by key, where it converts the
	// text; "" is the key of the result itself.
	Samples map[string]string
	// List is true if the template requests all names that start with Label.
	List bool
	// KV2 is true if the template takes the result for a secret of a KV engine
	// version 2.
	KV2 bool
	// Optional is true if the template works without a result.
	Optional bool
}

// samples has a value for each function that converts a text.
var samples = map[string]string{
	"parseInt": "1", "parseUint": "1", "parseFloat": "1", "parseBool": "false", "parseJSON": "{}", "parseYAML": "{}",
	"base64Decode": "VE9ETw==", "base64URLDecode": "VE9ETw==", "timestamp": "0",
	"sprig_atoi": "1", "sprig_int": "1", "sprig_b64dec": "VE9ETw==", "sprig_fromJson": "{}",
}

var lists = []string{"nomadVarList", "nomadVarListSafe", "ls", "tree", "safeLs", "safeTree", "secrets"}

// certificates are the keys that the function pkiCert uses.
var certificates = []string{"certificate", "private_key", "issuing_ca"}

// asked lists the functions whose results stubs provide.
var asked = map[string]struct {
	kind     string
	optional bool
}{
	"nomadVar": {stub.NomadVariable, false}, "nomadVarExists": {stub.NomadVariable, true},
	"nomadVarList": {stub.NomadVariable, true}, "nomadVarListSafe": {stub.NomadVariable, false},
	"key": {stub.ConsulKey, false}, "keyExists": {stub.ConsulKey, true}, "keyOrDefault": {stub.ConsulKey, true},
	"ls": {stub.ConsulKey, true}, "tree": {stub.ConsulKey, true}, "safeLs": {stub.ConsulKey, false}, "safeTree": {stub.ConsulKey, false},
	"secret": {stub.VaultSecret, false}, "pkiCert": {stub.VaultSecret, false}, "secrets": {stub.VaultSecret, true},
	"service": {stub.ServiceBlock, true}, "nomadService": {stub.ServiceBlock, true},
}

// labelOf returns the label of the block for an argument, and the namespace of a
// Nomad variable only if it is written: that of the job can be another one than
// the default.
func labelOf(kind, argument string) string {
	argument = strings.TrimSpace(argument)
	switch kind {
	case stub.ConsulKey:
		argument, _, _ = strings.Cut(argument, "@")
		argument, _, _ = strings.Cut(argument, "?")
		return strings.TrimPrefix(argument, "/")
	case stub.VaultSecret:
		argument, _, _ = strings.Cut(argument, "?")
		return strings.Trim(argument, "/")
	case stub.ServiceBlock:
		argument, _, _ = strings.Cut(argument, "@")
		argument, _, _ = strings.Cut(argument, "|")
		return argument[strings.LastIndexByte(argument, '.')+1:]
	}
	path, namespace, _ := strings.Cut(argument, "@")
	path = strings.Trim(path, "/")
	if namespace, _, _ = strings.Cut(namespace, "."); namespace != "" {
		path += "@" + namespace
	}
	return path
}

// value is a text that a template uses: the result of a call, or a key of it.
type value struct {
	*Call

	key string
}

// converts notes that a function converts the value.
func (v value) converts(function string) {
	if sample, ok := samples[function]; ok {
		v.becomes(sample)
	}
}

// becomes sets the sample of the value, unless it has one.
func (v value) becomes(sample string) {
	if v.Call == nil || v.Samples[v.key] != "" {
		return
	}
	if v.Samples == nil {
		v.Samples = map[string]string{}
	}
	v.Samples[v.key] = sample
}

// takes records the key that a template uses from the result.
func (c *Call) takes(fields []string) value {
	switch c.Kind {
	case stub.NomadVariable:
		switch fields[0] {
		case "Keys", "Values", "Tuples", "ItemsMap", "Metadata", "Parent":
			return value{}
		}
	case stub.VaultSecret:
		if fields[0] != "Data" {
			return value{}
		}
		fields = fields[1:]
		switch {
		case len(fields) > 1 && fields[0] == "data":
			fields, c.KV2 = fields[1:], true
			c.Items = slices.DeleteFunc(c.Items, func(item string) bool { return item == "data" })
		case len(fields) == 1 && fields[0] == "data" && (c.KV2 || stub.IsKV2(c.Label)):
			return value{}
		}
	default:
		return value{}
	}
	if len(fields) == 0 || fields[0] == "metadata" {
		return value{}
	}
	if !slices.Contains(c.Items, fields[0]) {
		c.Items = append(c.Items, fields[0])
	}
	return value{c, fields[0]}
}
