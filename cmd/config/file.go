package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/viper"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/syntax"
)

type file struct {
	path    string
	places  bool // positions in it are known
	values  map[string]value
	plugins []*hcl.Block // in the order of the file
}

// value is the value of a flag in a file.
type value struct {
	texts  []string
	origin string // where it was set
}

// inOrder returns attributes in the order of their file.
func inOrder(attributes hcl.Attributes) []*hcl.Attribute {
	return slices.SortedFunc(maps.Values(attributes), func(a, b *hcl.Attribute) int {
		return cmp.Compare(a.Range.Start.Byte, b.Range.Start.Byte)
	})
}

// Errors of values that no flag accepts.
var (
	errNoValue = errors.New("it has no value")
	errTable   = errors.New(`a table is not understood; write a list such as ["name=value"]`)
)

// texts returns a value as the texts that would be given to its flag.
func texts(val cty.Value) ([]string, error) {
	switch ty := val.Type(); {
	case val.IsNull():
		return nil, errNoValue
	case ty.IsTupleType() || ty.IsListType() || ty.IsSetType():
		var list []string
		for _, item := range val.AsValueSlice() {
			one, err := texts(item)
			if err != nil {
				return nil, err
			}
			list = append(list, one...)
		}
		return list, nil
	case ty.IsObjectType() || ty.IsMapType():
		return nil, errTable
	}
	text, err := convert.Convert(val, cty.String)
	if err != nil {
		return nil, err
	}
	return []string{text.AsString()}, nil
}

// at returns the place of a range in the file: the line or, if that is unknown,
// the key.
func (f *file) at(r hcl.Range, key string) string {
	switch {
	case f.places:
		return fmt.Sprintf("%s:%d", f.path, r.Start.Line)
	case key != "":
		return fmt.Sprintf("%s: key %s", f.path, key)
	}
	return f.path
}

// fault returns the first of several diagnostics as an error about a key.
func (f *file) fault(diags hcl.Diagnostics, key string) error {
	d := first(diags)
	at := f.at(hcl.Range{}, key)
	if d.Subject != nil {
		at = f.at(*d.Subject, key)
	}
	text := d.Summary
	for _, more := range []string{d.Detail, diagnostic.Remedy(d)} {
		if more != "" {
			text += ": " + strings.TrimSuffix(strings.Join(strings.Fields(more), " "), ".")
		}
	}
	return fmt.Errorf("cannot use config file %s: %s", at, text)
}

func first(diags hcl.Diagnostics) (found *hcl.Diagnostic) {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && (found == nil || offset(d) < offset(found)) {
			found = d
		}
	}
	return found
}

func offset(d *hcl.Diagnostic) int {
	if d.Subject == nil {
		return -1
	}
	return d.Subject.Start.Byte
}

// names are the file names to look for, one for each format.
var names = []string{"config.hcl", "config.toml", "config.yaml", "config.yml", "config.json"}

// Find returns the user's config file: config.hcl, config.toml, config.yaml or
// config.json in $XDG_CONFIG_HOME/taskrun, or "" without one. Two of them are an
// error, because one would be ignored.
func Find(env func(string) string) (string, error) {
	dir := env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification says to ignore relative paths
		home := env("HOME")
		if home == "" {
			return "", nil
		}
		dir = filepath.Join(home, ".config")
	}
	var found []string
	for _, name := range names {
		path := filepath.Join(dir, "taskrun", name)
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("cannot choose a config file: there are %s", strings.Join(found, " and "))
}

// readFile reads a config file: keys as attributes, and plugin blocks. An empty
// path is an empty file.
func readFile(path string, known []string) (*file, error) {
	f := &file{path: path, values: map[string]value{}}
	if path == "" {
		return f, nil
	}
	text, err := f.text()
	if err != nil {
		return nil, err
	}
	body, diags := syntax.Parse(text, path)
	if diags.HasErrors() {
		return nil, f.fault(diags, "")
	}
	attributes, _ := body.JustAttributes() // it complains about blocks, which are allowed
	for _, attr := range inOrder(attributes) {
		if attr.Name != pluginKey && !slices.Contains(known, attr.Name) {
			return nil, fmt.Errorf("cannot use config file %s: unknown key %q: %s", f.at(attr.Range, ""), attr.Name,
				instead(attr.Name, slices.Values(known), "keys are flags without the dashes:"))
		}
	}
	schema := &hcl.BodySchema{Blocks: pluginBlocks}
	for _, key := range known {
		schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: key})
	}
	content, diags := body.Content(schema)
	if diags.HasErrors() {
		return nil, f.fault(diags, pluginKey+" (it takes tables "+pluginKey+".<driver>.config)")
	}
	f.plugins = content.Blocks
	for _, attr := range inOrder(content.Attributes) {
		at := f.at(attr.Range, "")
		val, diags := attr.Expr.Value(nil)
		if diags.HasErrors() {
			return nil, f.fault(diags, attr.Name)
		}
		list, err := texts(val)
		if err != nil {
			return nil, fmt.Errorf("cannot use config file %s: key %q: %w", at, attr.Name, err)
		}
		f.values[attr.Name] = value{list, at}
	}
	return f, nil
}

// text returns the file as HCL, or files of other formats as HCL's JSON.
func (f *file) text() ([]byte, error) {
	if filepath.Ext(f.path) == ".hcl" {
		f.places = true
		text, err := os.ReadFile(f.path)
		if err != nil {
			return nil, fmt.Errorf("cannot read config file: %w", err)
		}
		return text, nil
	}
	if !slices.Contains(names, "config"+filepath.Ext(f.path)) {
		return nil, fmt.Errorf("cannot read config file %q: its name must end in .hcl, .toml, .yaml, .yml or .json", f.path)
	}
	// Keys contain no dots; another delimiter keeps nested tables together.
	v := viper.NewWithOptions(viper.KeyDelimiter("\x00"))
	v.SetConfigFile(f.path)
	err := v.ReadInConfig()
	if err == nil {
		var text []byte
		if text, err = json.Marshal(v.AllSettings()); err == nil {
			return text, nil
		}
	}
	return nil, fmt.Errorf("cannot read config file %q: %w", f.path, err)
}
