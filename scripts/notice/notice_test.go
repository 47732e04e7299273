package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// TestCurrent compares NOTICE with go.mod, and with the licenses of the modules
// in the module cache, without the network.
func TestCurrent(t *testing.T) {
	have, err := os.ReadFile("../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	licenses := map[string]string{} // by path and version
	for line := range strings.Lines(string(have)) {
		if f := strings.Fields(line); len(f) == 3 && strings.HasPrefix(f[1], "v") {
			licenses[f[0]+"@"+f[1]] = f[2]
		}
	}
	text, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", "../../go.mod").Output()
	if err != nil {
		t.Fatal(err)
	}
	var gomod struct{ Require []module }
	if err := json.Unmarshal(text, &gomod); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache := strings.TrimSpace(string(out))
	modules, read := gomod.Require, 0
	for i, m := range modules {
		name := m.Path + "@" + m.Version
		if licenses[name] == "" {
			t.Errorf("NOTICE does not have %s", name)
			continue
		}
		modules[i].License = licenses[name]
		dir := filepath.Join(cache, escaped(name))
		if _, err := os.Stat(dir); err != nil {
			continue // not needed for this build
		}
		read++
		if got, err := licenseIn(dir); err != nil || got != licenses[name] {
			t.Errorf("%s: NOTICE says %s, its license file %s (%v)", name, licenses[name], got, err)
		}
	}
	if read == 0 {
		t.Log("no module is in the module cache: licenses were not compared")
	}
	if notice(modules) != string(have) {
		t.Error("NOTICE is not current: go run ./scripts/notice >NOTICE")
	}
}

// escaped returns the spelling of a path in the module cache: "!a" for "A".
func escaped(path string) string {
	var out strings.Builder
	for _, r := range path {
		if unicode.IsUpper(r) {
			out.WriteByte('!')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

func TestClassify(t *testing.T) {
	for text, want := range map[string]string{
		"Mozilla Public License, version 2.0":                                  "MPL-2.0",
		"Apache License\n  Version 2.0, January 2004":                          "Apache-2.0",
		"Redistribution and use in source and\nbinary forms\nNeither the name": "BSD-3-Clause",
		"Redistribution and use in source and binary forms":                    "BSD-2-Clause",
		"Permission is hereby granted, free of charge, to":                     "MIT",
		"All rights reserved.":                                                 "",
	} {
		if got := classify(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
