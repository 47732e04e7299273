package template

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/hashicorp/go-envparse"
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

func (s *set) hasVariables() bool {
	for _, t := range s.templates {
		if t.env {
			return true
		}
	}
	return false
}
