package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/viper"

	"taskrun/jobspec/syntax"
)

// names are the file names that are looked for, one for each format.
var names = []string{"config.hcl", "config.toml", "config.yaml", "config.yml", "config.json"}

// Find returns the user's config file: config.hcl, config.toml, config.yaml or
// config.json in $XDG_CONFIG_HOME/taskrun, or "" when there is none. Two of them
// are an error, since one would be ignored.
func Find(env func(string) string) (string, error) {
	dir := env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification: relative paths are to be ignored
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

// file is what a config file says.
type file struct {
	path    string
	places  bool // positions in it are known
	values  map[string]value
	plugins []*hcl.Block // in the order of the file
}

// value is what a file says of one flag.
type value struct {
	texts  []string
	origin string // where it stands
}

// pluginKey is the one key of a config file that is no flag.
const pluginKey = "plugin"

// readFile reads a config file; no path, nothing said.
func readFile(path string, known []string) (*file, error) {
	f := &file{path: path, values: map[string]value{}}
	switch {
	case path == "":
		return f, nil
	case filepath.Ext(path) == ".hcl":
		return f, f.readHCL(known)
	}
	// Keys hold no dots; with another delimiter a table is one value.
	v := viper.NewWithOptions(viper.KeyDelimiter("\x00"))
	v.SetConfigFile(path)
	if err := v.ReadInConfig(); err != nil {
		return nil, fmt.Errorf("cannot read config file %q: %w", path, err)
	}
	for key, val := range v.AllSettings() {
		if key == pluginKey {
			if err := f.takePlugins(val); err != nil {
				return nil, err
			}
			continue
		}
		if !slices.Contains(known, key) {
			return nil, fmt.Errorf("cannot use config file %q: %w", path, unknownKey(key, known))
		}
		list, err := scalars(val)
		if err != nil {
			return nil, fmt.Errorf("cannot use config file %q: key %q: %w", path, key, err)
		}
		f.values[key] = value{list, path}
	}
	return f, nil
}

func unknownKey(key string, known []string) error {
	return fmt.Errorf("unknown key %q: %s", key, instead(key, slices.Values(known), "keys are flags without the dashes:"))
}

// takePlugins takes the options of drivers out of a table, which HCL's JSON
// syntax reads as blocks.
func (f *file) takePlugins(table any) error {
	text, err := json.Marshal(map[string]any{pluginKey: table})
	if err != nil {
		return fmt.Errorf("cannot use config file %q: key %q: %w", f.path, pluginKey, err)
	}
	body, diags := syntax.Parse(text, f.path)
	if diags.HasErrors() {
		return f.fault(diags, pluginKey)
	}
	content, diags := body.Content(&hcl.BodySchema{Blocks: pluginBlocks})
	if diags.HasErrors() {
		return f.fault(diags, pluginKey+" (it takes tables "+pluginKey+".<driver>.config)")
	}
	f.plugins = content.Blocks
	return nil
}

// What a flag cannot be given.
var (
	errNoValue = errors.New("it has no value")
	errTable   = errors.New(`a table is not understood; write a list such as ["name=value"]`)
)

// scalars returns a value as the texts that its flag would be given.
func scalars(value any) ([]string, error) {
	switch value := value.(type) {
	case nil:
		return nil, errNoValue
	case []any:
		var list []string
		for _, item := range value {
			one, err := scalars(item)
			if err != nil {
				return nil, err
			}
			list = append(list, one...)
		}
		return list, nil
	case map[string]any:
		return nil, errTable
	}
	return []string{fmt.Sprint(value)}, nil
}
