package template

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-envparse"
	"github.com/hashicorp/nomad/api"
)

// variables reads the variables of all templates with env = true from their
// files. Later templates win, and watched ones win over those that are rendered
// once.
func (s *set) variables() (map[string]string, error) {
	all := map[string]string{}
	for _, once := range []bool{true, false} {
		for _, t := range s.templates {
			if !t.env || t.once != once {
				continue
			}
			text, err := readPlaced(s.dir, filepath.Join(s.dir, t.dest))
			if err != nil {
				return nil, fmt.Errorf("cannot read %s: %w", t.written, err)
			}
			vars, err := envparse.Parse(bytes.NewReader(text))
			if err != nil {
				return nil, fmt.Errorf("cannot understand %s: %w", t.written, err)
			}
			maps.Copy(all, vars)
		}
	}
	return all, nil
}

// parseVariables returns the error of a template with env = true whose text has no
// actions.
func parseVariables(t *api.Template) *envparse.ParseError {
	if !*t.Envvars {
		return nil
	}
	_, err := envparse.Parse(strings.NewReader(*t.EmbeddedTmpl))
	wrong, _ := errors.AsType[*envparse.ParseError](err)
	return wrong
}

func (s *set) hasVariables() bool {
	return slices.ContainsFunc(s.templates, func(t *spec) bool { return t.env })
}
