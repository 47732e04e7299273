package syntax_test

import (
	"strings"
	"testing"

	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/syntax"
)

func TestIsJSONAndIsAPI(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ json, api bool }{
		"":                                      {},
		`job "x" {}`:                            {},
		"\n# {\njob \"x\" {}":                   {},
		`{"job": {}}`:                           {json: true},
		" \t\r\n{\"job\": {}}":                  {json: true},
		"\xef\xbb\xbf\n{\"job\": {}}":           {json: true},
		`{"Job": {}}`:                           {json: true, api: true},
		`{"x": {"Job": {}}}`:                    {json: true},
		`{"a": ["Job", {"Job": 1}], "Job": {}}`: {json: true, api: true},
		`{"ID": "x"}`:                           {json: true},
		`{"ID": "x", "TaskGroups": []}`:         {json: true, api: true},
		`{"TaskGroups": {"ID": 1}, "ID": "x"}`:  {json: true, api: true},
		`{"a": "Job"}`:                          {json: true},
		`{"a": "ID", "b": "TaskGroups"}`:        {json: true},
		`{"Job": `:                              {json: true, api: true}, // so that its error is reported
		`{"a`:                                   {json: true},
		`[{"Job": 1}]`:                          {},
	} {
		if got := syntax.IsJSON([]byte(text)); got != want.json {
			t.Errorf("IsJSON(%q) = %v", text, got)
		}
		if got := syntax.IsAPI([]byte(text)); got != want.api {
			t.Errorf("IsAPI(%q) = %v", text, got)
		}
	}
}

func TestFaultsOfSyntax(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		at      string // the wrong text
		summary string
		count   int
	}{
		"a = 1 +\n":                          {"\n", "Invalid expression", 1},
		"a = \"x\nb = \"y\"\nc = ]\n":        {"", "this string is not closed", 1}, // the rest is noise
		"a = 'x'\n":                          {"'", "single quotes are not valid", 1},
		"a = ${x}\n":                         {"$", "a reference must be in a string", 1},
		"b { c = 1, d = 2 }\n":               {",", "a block on one line holds one attribute", 1},
		"b { c = 1 d = 2 }\n":                {"d", "a block on one line holds one attribute", 1},
		"b {\n \"c\" = 1\n}\n":               {"\"", "the name of an attribute has no quotes", 1},
		"a = 1\na = 2\n":                     {"a", `"a" is given twice`, 1},
		"b \"${x}\" {}\n":                    {"${", "the name of a block cannot be computed", 1},
		"b {\n":                              {"{", "this block is not closed", 1},
		"a = <<EOT\nx\n":                     {"<<EOT", "this text is not closed", 1},
		"a = \"\\q\"\n":                      {"\\q", "invalid escape sequence", 1},
		"a = [[ .x ]]\n":                     {"[[ .", "this is a template for a job file, not a job file", 1},
		"[[- if .x ]]\na = 1\n[[ end ]]\n":   {"[[- if", "this is a template for a job file, not a job file", 1},
		"a = {{ .x }}\n":                     {"{{ .x }}", "this is a template for a job file, not a job file", 1},
		"a = [[1, 2], [x]\n":                 {"[", "Unterminated tuple constructor expression", 1}, // a list of lists
		"t = <<E\n{{ .x }}\nE\na = )\n":      {")", "Invalid expression", 1},                        // a template is fine here
		"t = <<E\n[[ $x == y ]]\nE\na = )\n": {")", "Invalid expression", 1},                        // a script
		"{\"a\": {\"b\": 1, }}":              {",", "Trailing comma in object", 1},
		"{\"a\": {\"b\": 1 \"c\": 2}}":       {"\"", "a comma is missing", 1},
		"{\"a\": {\"b\": 1":                  {"{", "Unclosed object", 1},
		"a = 1 /* b\nc = 2\n":                {"/*", "this comment is not closed", 1},
		"a = \"\xff\"\n":                     {"\xff", "this is not UTF-8", 1},
		"{\"a\": \"\xff\"}":                  {"\xff", "this is not UTF-8", 1},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			_, diags := syntax.Parse([]byte(text), "t")
			if len(diags) != want.count || diags[0].Summary != want.summary {
				t.Fatalf("got %v", diags)
			}
			at := *diags[0].Subject
			if got := text[at.Start.Byte:at.End.Byte]; want.at != "" && got != want.at {
				t.Errorf("points at %q, want %q", got, want.at)
			}
		})
	}
}

// A syntax error has an explanation if necessary, and a remedy.
func TestRemediesOfSyntax(t *testing.T) {
	t.Parallel()
	const left = "which Nomad has left behind"
	for text, want := range map[string]struct{ detail, remedy string }{
		"b {\n \"c\" = 1\n}\n":   {left, "write the name without quotes"},
		"b { c = 1, d = 2 }\n":   {left, "write each attribute on a line of its own"},
		"b { c = 1 d = 2 }\n":    {"", "write each attribute on a line of its own"},
		"b {\n":                  {"the file ends before its }", "add the missing }"},
		"a = <<EOT\nx\n":         {"", "add the closing quote, or the end marker"},
		"a = 'x'\n":              {"", `write "…"`},
		"a = \"\\q\"\n":          {`valid are \n`, `write \\ for a backslash`},
		"b \"${x}\" {}\n":        {"", "use a dynamic block"},
		"a = 1\na = 2\n":         {"the first is on line 1", "delete one of them"},
		`{"a": {"b": 1 "c": 2}}`: {"", "write a comma before this"},
		"a = 1 /* b\n":           {"", "add */"},
		"a = \"\xff\"\n":         {"", "save the file as UTF-8"},
	} {
		_, diags := syntax.Parse([]byte(text), "t")
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, want.detail) || !strings.Contains(diagnostic.Remedy(diags[0]), want.remedy) {
			t.Errorf("%q: %v, remedy %q", text, diags, diagnostic.Remedy(diags[0]))
		}
	}
}

func TestParseTakesAByteOrderMark(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a = 1\n", `{"a": 1}`} {
		body, diags := syntax.Parse([]byte("\xef\xbb\xbf"+text), "t")
		attributes, moreDiags := body.JustAttributes()
		if diags.HasErrors() || moreDiags.HasErrors() || len(attributes) != 1 {
			t.Errorf("%q: %v, %v", text, diags, moreDiags)
		}
	}
}

func TestLimitsLeaveRoomForRealFiles(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"blocks":         strings.Repeat("b {\n", 200) + strings.Repeat("}\n", 200),
		"lists":          "a = " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n",
		"a long sum":     "a = 1" + strings.Repeat(" + 1", 2000) + "\n",
		"a long list":    "a = [" + strings.Repeat("1 + 1,\n", 20_000) + "]\n",
		"many lines":     strings.Repeat("b {\n a = -1 + -1 # [[[ {{{ (((\n}\n", 20_000),
		"a long script":  "a = <<EOT\n" + strings.Repeat("if [ \"$x\" = \"{\" ]; then echo \"$(ls)\" | wc -l > /dev/null; fi\n", 2_000) + "EOT\n",
		"references":     "a = \"" + strings.Repeat("${x}-", 20_000) + "\"\n",
		"a large number": "a = " + strings.Repeat("9", 300) + "\n",
		"digits in text": "a = \"" + strings.Repeat("9", 10_000) + "\"\n",
		"stars":          "# " + strings.Repeat("*", 20_000) + "\n",
		"products":       "a = [" + strings.Repeat("b * c / d,\n", 10_000) + "]\n",
		"JSON":           `{"a": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `, "b": "` + strings.Repeat("[9", 1000) + `"}`,
	} {
		if _, diags := syntax.Parse([]byte(text), "t"); diags.HasErrors() {
			t.Errorf("%s: %v", name, diags)
		}
	}
}
