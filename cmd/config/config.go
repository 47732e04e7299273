// Package config determines the value of every option: from the flag, or else
// the environment variable TASKRUN_<FLAG>, or else the key in the config file,
// or else the flag's default.
//
// An option is defined once, by its flag; values from the environment and the
// file pass through the flag's own parser. The result is in the command's
// options struct, to which its flags are bound.
//
// Options of drivers are only in the file, as in that of a Nomad agent.
package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Sources are the sources of options besides the command line.
type Sources struct {
	Env  func(string) string // empty values count as unset
	File string              // path of the config file; may be empty
	// Keys returns the valid keys of a config file. It is called if there is a
	// file.
	Keys func() []string
	// Drivers returns the options of every driver, nil for a driver without
	// any. It is called if the file contains plugin blocks.
	Drivers func() Schemas
}

// EnvName returns the environment variable of a flag, such as TASKRUN_DATA_DIR.
func EnvName(flag string) string {
	return "TASKRUN_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// nomadNames are the variables of flags whose Nomad variable is not spelled like
// the flag, such as NOMAD_CACERT: users write TASKRUN_ instead of NOMAD_. See
// https://developer.hashicorp.com/nomad/docs/commands#environment-variables.
var nomadNames = map[string]string{
	"address": "TASKRUN_ADDR", "ca-cert": "TASKRUN_CACERT", "ca-path": "TASKRUN_CAPATH", "tls-skip-verify": "TASKRUN_SKIP_VERIFY",
}

// fromEnv returns the value of a flag in the environment, and the name of the
// variable.
func fromEnv(flag string, env func(string) string) (name, value string) {
	for _, name := range []string{EnvName(flag), nomadNames[flag]} {
		if name == "" {
			continue
		}
		if value := env(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// Apply sets every flag that the command line omits, from the environment or
// the config file, and returns the options of drivers.
//
// A flag that may be repeated has one value per line in the environment, and a
// list in the file. An unknown key in the file is an error.
func Apply(flags *pflag.FlagSet, src Sources) ([]Plugin, error) {
	var keys []string
	if src.File != "" {
		keys = src.Keys()
	}
	file, err := readFile(src.File, keys)
	if err != nil {
		return nil, err
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if err != nil || f.Changed || !isOption(f) {
			return
		}
		if name, v := fromEnv(f.Name, src.Env); v != "" {
			err = set(f, name, envValues(f, v))
			return
		}
		if v, ok := file.values[f.Name]; ok {
			err = set(f, fmt.Sprintf("%s: key %q", v.origin, f.Name), v.texts)
		}
	})
	if err != nil || len(file.plugins) == 0 {
		return nil, err
	}
	return file.decode(src.Drivers())
}

// Options returns the names of the flags that may also be set elsewhere.
func Options(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if isOption(f) {
			names = append(names, f.Name)
		}
	})
	return names
}

func isOption(f *pflag.Flag) bool {
	return f.Name != "help" && f.Name != "version" && f.Name != "config"
}

func set(f *pflag.Flag, origin string, values []string) error {
	if len(values) > 1 && !repeatable(f) {
		return fmt.Errorf("cannot use %s: it takes one value, not a list", origin)
	}
	for _, v := range values {
		if err := f.Value.Set(v); err != nil {
			return fmt.Errorf("cannot use %s: %w", origin, Plain(f, v, err))
		}
	}
	return nil
}

// kinds maps types of flags, whose errors come from package strconv or time, to
// words for users.
var kinds = map[string]string{
	"int": "a whole number", "uint": "a whole number from 0", "bool": "true or false", "duration": "a duration, such as 30s or 5m",
}

// Plain returns the error of a value that a flag has refused, in words for
// users.
func Plain(f *pflag.Flag, value string, err error) error {
	kind := kinds[f.Value.Type()]
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%q is out of range", value)
	case kind != "":
		return fmt.Errorf("%q is not %s", value, kind)
	}
	return err
}

func envValues(f *pflag.Flag, v string) []string {
	if !repeatable(f) {
		return []string{v}
	}
	var values []string
	for line := range strings.Lines(v) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			values = append(values, line)
		}
	}
	return values
}

func repeatable(f *pflag.Flag) bool {
	_, ok := f.Value.(pflag.SliceValue)
	return ok
}
