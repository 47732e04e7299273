package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taskrun/cmd/agent/resident"
	"taskrun/cmd/agent/settings"
	"taskrun/cmd/config"
	"taskrun/cmd/exit"
	"taskrun/cmd/verdict"
)

// agentSettings reads the configuration files of an agent, and sets the options of
// drivers. It reports errors and, with tell, settings that have no effect.
func (a *app) agentSettings(configs []string, tell bool) (settings.Settings, error) {
	var files []settings.File
	for _, path := range configs {
		more, err := settingsFiles(path)
		if err != nil {
			return settings.Settings{}, err
		}
		files = append(files, more...)
	}
	schemas := config.Schemas{}
	var names []string
	if len(files) > 0 {
		for name, spec := range a.driverOptions() {
			if schemas[name] = spec; spec != nil {
				names = append(names, name)
			}
		}
	}
	set, unheeded, diagnostics := settings.Read(files, names)
	if len(diagnostics) > 0 {
		sources := map[string][]byte{}
		for _, f := range files {
			sources[f.Name] = f.Text
		}
		a.PrintIn(sources, diagnostics)
	}
	if diagnostics.HasErrors() {
		return set, exit.Silent(verdict.Usage)
	}
	for _, p := range set.Plugins {
		plugins, err := config.Decode(p.File, p.Blocks(), schemas)
		if err == nil {
			err = a.addDriverOptions(plugins)
		}
		if err != nil {
			return set, exit.Usage("%w", err)
		}
	}
	if tell {
		a.tellUnheeded(unheeded)
	}
	return set, nil
}

// settingsFiles reads a file or, as Nomad does, the *.hcl and *.json files in a
// directory.
func settingsFiles(path string) ([]settings.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, exit.Usage("cannot read the configuration: %w", err)
	}
	paths := []string{path}
	if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, exit.Usage("cannot read the configuration: %w", err)
		}
		paths = nil
		for _, e := range entries { // sorted by name
			if ext := filepath.Ext(e.Name()); ext == ".hcl" || ext == ".json" {
				paths = append(paths, filepath.Join(path, e.Name()))
			}
		}
	}
	var files []settings.File
	for _, path := range paths {
		text, err := resident.ReadLimited(path)
		if err != nil {
			return nil, exit.Usage("cannot read the configuration: %w", err)
		}
		files = append(files, settings.File{Name: path, Text: text})
	}
	return files, nil
}

// tellUnheeded lists the settings that have no effect.
func (a *app) tellUnheeded(list []settings.Unheeded) {
	if len(list) == 0 {
		return
	}
	var names []string
	for _, u := range list {
		name := fmt.Sprintf("%s (%s:%d)", u.Name, u.At.File, u.At.Start.Line)
		if u.Why != "" {
			name += ": " + u.Why
		}
		names = append(names, name)
	}
	slices.Sort(names)
	a.Report("", "These settings have no effect here:\n  "+strings.Join(names, "\n  "))
}
