package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// names are the file names that are looked for, one for each format.
var names = []string{"config.toml", "config.yaml", "config.yml", "config.json"}

// Find returns the user's config file: config.toml, config.yaml or config.json
// in $XDG_CONFIG_HOME/taskrun, or "" when there is none. Two of them are an
// error, since one would be ignored.
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

// readFile returns the values of each key of a config file; no path, no keys.
func readFile(path string, known []string) (map[string][]string, error) {
	if path == "" {
		return nil, nil
	}
	// Keys hold no dots; with another delimiter a table is one value.
	v := viper.NewWithOptions(viper.KeyDelimiter("\x00"))
	v.SetConfigFile(path)
	if err := v.ReadInConfig(); err != nil {
		return nil, fmt.Errorf("cannot read config file %q: %w", path, err)
	}
	values := make(map[string][]string)
	for key, value := range v.AllSettings() {
		if !slices.Contains(known, key) {
			return nil, fmt.Errorf("cannot use config file %q: unknown key %q (keys are flags without the dashes: %s)",
				path, key, strings.Join(known, ", "))
		}
		list, err := scalars(value)
		if err != nil {
			return nil, fmt.Errorf("cannot use config file %q: key %q: %w", path, key, err)
		}
		values[key] = list
	}
	return values, nil
}

// scalars returns a value as the texts that its flag would be given.
func scalars(value any) ([]string, error) {
	switch value := value.(type) {
	case nil:
		return nil, fmt.Errorf("it has no value")
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
		return nil, fmt.Errorf("a table is not understood; write a list such as [\"name=value\"]")
	}
	return []string{fmt.Sprint(value)}, nil
}
