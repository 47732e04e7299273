package syntax

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
)

// Every limit is exact, and its error has the place and the name of the limit.
// All three ways to parse a text have the same limits.
func TestLimits(t *testing.T) {
	t.Parallel()
	const deep, long, digits = "it nests too deep here", "it is too long", "no number needs more than 400 digits"
	parse := func(text string) hcl.Diagnostics {
		_, diags := Parse([]byte(text), "t")
		return diags
	}
	expression := func(text string) hcl.Diagnostics {
		_, diags := Expression([]byte(text), "t")
		return diags
	}
	template := func(text string) hcl.Diagnostics {
		_, diags := Template(text, "t", start)
		return diags
	}
	nested := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	for _, c := range []struct {
		name   string
		read   func(string) hcl.Diagnostics
		text   func(int) string
		most   int
		detail string
	}{
		{"blocks", parse, func(n int) string { return nested("b {\n", "", "}\n", n) }, maxDepth, deep},
		{"lists", expression, func(n int) string { return nested("[", "", "]", n) }, maxDepth, deep},
		{"objects", expression, func(n int) string { return nested("{a=", "1", "}", n) }, maxDepth, deep},
		{"parentheses", expression, func(n int) string { return nested("(", "1", ")", n) }, maxDepth, deep},
		{"operators", expression, func(n int) string { return "1" + strings.Repeat("+1", n) }, maxPath, deep},
		{"signs", expression, func(n int) string { return strings.Repeat("!", n) + "true" }, maxPath, deep},
		{"indexes", expression, func(n int) string { return "a" + strings.Repeat("[0]", n) }, maxPath, deep},
		{"templates in JSON", template, func(n int) string { return nested("${\"", "x", "\"}", n) }, (maxDepth - 1) / 2, deep},
		{"JSON", parse, func(n int) string { return `{"a":` + nested("[", "", "]", n-1) + "}" }, maxDepth, deep},
		{"digits", expression, func(n int) string { return strings.Repeat("9", n) }, maxDigits, digits},
		{"digits behind a point", expression, func(n int) string { return "1." + strings.Repeat("9", n-1) }, maxDigits, digits},
		{"digits in a template", template, func(n int) string { return "${" + strings.Repeat("9", n) + "}" }, maxDigits, digits},
		{"digits in JSON", parse, func(n int) string { return `{"a":` + strings.Repeat("9", n) + "}" }, maxDigits, digits},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diags := c.read(c.text(c.most)); diags.HasErrors() {
				t.Errorf("%d are refused: %v", c.most, diags)
			}
			diags := c.read(c.text(c.most + 1))
			if len(diags) != 1 || diags[0].Summary != "this text is not read, because it could exhaust the machine" || !strings.Contains(diags[0].Detail, c.detail) {
				t.Fatalf("%d are not: %v", c.most+1, diags)
			}
			if at := diags[0].Subject.Start.Byte; at == 0 || at > len(c.text(c.most+1)) {
				t.Errorf("it points at byte %d", at)
			}
		})
	}
	many := strings.Repeat("1,", maxTokens/2)
	for name, c := range map[string]struct {
		diags  hcl.Diagnostics
		detail string
	}{
		"tokens":         {parse("a = [" + many + "]\n"), long},
		"tokens in JSON": {parse(`{"a": [` + many + many + "1]}"), long},
		"tokens in text": {template("${[" + many + "]}"), long},
		"lines":          {parse("a = <<E\n" + strings.Repeat("x\n", 50_000) + "E\n"), "the text has too many lines; a file beside the job file can hold it"},
		"a comment":      {expression("1 /* "), ""},
		"no UTF-8":       {expression("\xff"), ""},
		"size":           {parse(strings.Repeat(" ", maxSize+1)), "it has 16 MiB; at most 16 are read"},
		"size of JSON":   {parse("{" + strings.Repeat(" ", maxSize) + "}"), "it has 16 MiB; at most 16 are read"},
	} {
		if len(c.diags) != 1 || !strings.HasPrefix(c.diags[0].Detail, c.detail) {
			t.Errorf("%s: %v", name, c.diags)
		}
	}
	if diags := parse(strings.Repeat(" ", maxSize)); diags.HasErrors() {
		t.Errorf("the largest file is refused: %v", diags)
	}
	if diags := CheckNesting([]byte(`{"a": ["[,", "\"[", 1]}`), "t", 10); diags.HasErrors() {
		t.Errorf("what is in strings counts: %v", diags)
	}
	if diags := CheckNesting([]byte(`{"a": ["[,", "\"[", 1]}`), "t", 9); !diags.HasErrors() {
		t.Error("brackets, strings and commas do not count")
	}
}

// An expression and a template are parsed like in HCL.
func TestExpressionAndTemplate(t *testing.T) {
	t.Parallel()
	expr, diags := Expression([]byte("1 + 1"), "t")
	if v, more := expr.Value(nil); diags.HasErrors() || more.HasErrors() || v.AsBigFloat().String() != "2" {
		t.Errorf("%#v, %v, %v", v, diags, more)
	}
	expr, diags = Template(`a "${1 + 1}" b`, "t", hcl.Pos{Line: 3, Column: 5, Byte: 40})
	if v, more := expr.Value(nil); diags.HasErrors() || more.HasErrors() || v.AsString() != `a "2" b` {
		t.Errorf("%#v, %v, %v", v, diags, more)
	}
	if at := expr.Range().Start; at.Line != 3 || at.Column != 5 || at.Byte != 40 {
		t.Errorf("it begins at %v", at)
	}
}
