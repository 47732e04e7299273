package ui

// ColourMode is what --color says.
type ColourMode string

// The values of --color.
const (
	ColourAuto   ColourMode = "auto"
	ColourAlways ColourMode = "always"
	ColourNever  ColourMode = "never"
)

// String, Set and Type make it the value of a flag.
func (m *ColourMode) String() string { return string(*m) }

// Set accepts auto, always and never.
func (m *ColourMode) Set(s string) error {
	switch mode := ColourMode(s); mode {
	case ColourAuto, ColourAlways, ColourNever:
		*m = mode
		return nil
	}
	return oneOf(s, string(ColourAuto), string(ColourAlways), string(ColourNever))
}

// Type names the value in help texts.
func (m *ColourMode) Type() string { return "when" }

// OutStyle returns the style for stdout.
func (s *Streams) OutStyle(mode ColourMode) *Style { return newStyle(s.colour(mode, s.OutTerm)) }

// ErrStyle returns the style for stderr.
func (s *Streams) ErrStyle(mode ColourMode) *Style { return newStyle(s.colour(mode, s.ErrTerm)) }

// colour decides whether a stream gets colours: the flag, then NO_COLOR (see
// https://no-color.org), CLICOLOR_FORCE and FORCE_COLOR, CLICOLOR=0 (see
// https://bixense.com/clicolors), GitHub's log viewer, which is no terminal
// but shows colours, and at last the terminal and TERM.
func (s *Streams) colour(mode ColourMode, terminal bool) bool {
	forced := func(name string) bool { v := s.Env(name); return v != "" && v != "0" && v != "false" }
	switch {
	case mode == ColourAlways:
		return true
	case mode == ColourNever, s.Env("NO_COLOR") != "":
		return false
	case forced("CLICOLOR_FORCE"), forced("FORCE_COLOR"):
		return true
	case s.Env("CLICOLOR") == "0":
		return false
	case s.Env("GITHUB_ACTIONS") == "true":
		return true
	}
	return terminal && s.cursor()
}

// cursor reports whether the terminal understands more than letters.
func (s *Streams) cursor() bool {
	t := s.Env("TERM")
	return t != "" && t != "dumb"
}
