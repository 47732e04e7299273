package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/viper"

	"taskrun/jobspec/syntax"
)

// names are the file names to look for, one for each format.
var names = []string{"config.hcl", "config.toml", "config.yaml", "config.yml", "config.json"}

// Find returns the user's config file: config.hcl, config.toml, config.yaml or
// config.json in $XDG_CONFIG_HOME/taskrun, or "" if there is none. Two of them
// are an error, because one would be ignored.
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
