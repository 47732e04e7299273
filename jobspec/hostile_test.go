package jobspec_test

import (
	"fmt"
	"strings"
	"testing"

	"taskrun/engine/leaf/racetest"
	"taskrun/jobspec"
)

// Parse returns for any hostile input, without exhausting the machine. Without
// the limits, each of these ends the process, or keeps it busy for hours.
func TestHostileInputEndsInAnError(t *testing.T) {
	t.Parallel()
	if racetest.Enabled {
		t.Skip("the race detector makes it ten times slower, and one goroutine does all of it")
	}
	deep := func(open string) string { return strings.Repeat(open, 200_000) }
	half := func(open string) string { return strings.Repeat(open, 100_000) }   // ends the process, too
	quarter := func(open string) string { return strings.Repeat(open, 50_000) } // likewise
	config := func(expr string) string {
		return "job \"x\" {\n  group \"g\" {\n    task \"t\" {\n      config {\n        a = " + expr + "\n      }\n    }\n  }\n}\n"
	}
	tests := map[string]struct {
		text string
		opts jobspec.Options
	}{
		"brackets":                         {text: config(half("["))},
		"parentheses":                      {text: config(half("("))},
		"objects":                          {text: config(half("{a="))},
		"interpolations":                   {text: config(quarter(`"${`))},
		"negations":                        {text: config(deep("!") + "true")},
		"signs":                            {text: config(deep("- ") + "1")},
		"conditions":                       {text: config(deep("true ? 1 : ") + "1")},
		"sums":                             {text: config(deep("1 + ") + "1")},
		"comparisons":                      {text: config(deep("1 == ") + "1")},
		"sums over lines":                  {text: config("(" + deep("1 +\n") + "1)")},
		"sums in a for expression":         {text: config("{for k in [1] : k =>" + deep("1 +\n") + "1}")},
		"indexes":                          {text: config("local.a" + deep("[0+0]"))},
		"splats":                           {text: config("[1]" + deep("[*]"))},
		"calls":                            {text: config(half("abs("))},
		"directives":                       {text: config(`"` + quarter("%{if true}") + `"`)},
		"blocks":                           {text: "job \"x\" {\n" + deep("group \"g\" {\n")},
		"blocks in config":                 {text: "job \"x\" {\ntask \"t\" {\nconfig {\n" + deep("a {\n")},
		"comments to hide brackets":        {text: config(strings.Repeat("[ /* ]]]]]] */ # ]]]]\n", 100_000))},
		"heredocs to hide brackets":        {text: config(strings.Repeat("[ <<A\n]]]]\nA\n + [", 100_000))},
		"a million digits":                 {text: config(strings.Repeat("9", 1_000_000))},
		"an enormous exponent":             {text: config(`"${1e999999999}"`)},
		"an enormous exponent, alone":      {text: config(`1e999999999`)},
		"range":                            {text: config("range(0, 1e9)")},
		"nested loops":                     {text: config("[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : [for d in range(1000) : d]]]]")},
		"nested loops in a template":       {text: config(`"%{for a in range(1000)}%{for b in range(1000)}%{for c in range(1000)}x%{endfor}%{endfor}%{endfor}"`)},
		"a default with nested loops":      {text: "variable \"v\" {\n default = [for a in [" + strings.Repeat("1,", 1000) + "] : [for b in [" + strings.Repeat("1,", 1000) + "] : [for c in [" + strings.Repeat("1,", 1000) + "] : c]]]\n}\n" + config("1")},
		"products":                         {text: config("setproduct(range(1000), range(1000), range(1000), range(1000))")},
		"a wide format":                    {text: config(`format("%0999999999d", 1)`)},
		"a wide format from a list":        {text: config(`formatlist("%0999999999d", [1])`)},
		"a wide indent":                    {text: config(`indent(2000000000, "a\nb")`)},
		"replacing much by much":           {text: "locals {\n a = \"" + strings.Repeat("a", 1<<20) + "\"\n}\n" + config(`replace(local.a, "a", local.a)`)},
		"replacing by a pattern":           {text: "locals {\n a = \"" + strings.Repeat("a", 1<<20) + "\"\n}\n" + config(`regex_replace(local.a, "a", local.a)`)},
		"joining much":                     {text: "locals {\n a = \"" + strings.Repeat("a", 1<<20) + "\"\n}\n" + config("join(\"\", ["+strings.Repeat("local.a,", 10_000)+"])")},
		"encoding much":                    {text: "locals {\n a = \"" + strings.Repeat("a", 1<<20) + "\"\n}\n" + config("jsonencode(["+strings.Repeat("local.a,", 10_000)+"])")},
		"a template of much":               {text: "locals {\n a = \"" + strings.Repeat("a", 1<<20) + "\"\n}\n" + config(`"`+strings.Repeat("${local.a}", 10_000)+`"`)},
		"costly hashes":                    {text: config(`bcrypt("a", 31)`)},
		"JSON in a string":                 {text: config(`jsondecode("` + deep("[") + `")`)},
		"YAML in a string":                 {text: config(`yamldecode("` + deep("[") + `")`)},
		"doubling texts":                   {text: doubling(`"${local.a%[1]d}${local.a%[1]d}"`) + config("local.a40")},
		"doubling lists":                   {text: doubling("[local.a%[1]d, local.a%[1]d]") + config("local.a40")},
		"squaring numbers":                 {text: doubling("local.a%[1]d * local.a%[1]d") + config(`"${local.a60}"`)},
		"squaring in loops":                {text: config(squares(60))},
		"locals in a chain":                {text: "locals {\n a0 = 1\n" + chain(20_000) + "}\n" + config("local.a20000")},
		"locals in a ring":                 {text: "locals {\n a0 = local.a300\n" + chain(300) + "}\n" + config("local.a300")},
		"locals that name all":             {text: "locals {\n" + numbered("a%d = local\n", 20_000) + "}\n" + config("local.a1")},
		"locals that do not exist":         {text: "locals {\n" + numbered("a%d = local.b\n", 20_000) + "}\n" + config("local.a1")},
		"variables without values":         {text: numbered("variable \"v%d\" {}\n", 20_000) + config("var.v1")},
		"dynamic blocks":                   {text: "job \"x\" {\n dynamic \"group\" {\n for_each = range(1000)\n labels = [group.key]\n content {\n dynamic \"task\" {\n for_each = range(1000)\n labels = [task.key]\n content {\n dynamic \"service\" {\n for_each = range(1000)\n content {}\n }\n }\n }\n }\n }\n}\n"},
		"a variable that refers to itself": {text: "variable \"v\" {\n default = var.v\n}\n" + config("var.v")},
		"nested text for a variable": {
			text: "variable \"v\" {\n type = list(string)\n}\n" + config("var.v"),
			opts: jobspec.Options{Vars: []string{"v=" + deep("[")}},
		},
		"a large file":                     {text: strings.Repeat("# a comment of some length\n", 2_000_000)},
		"many tokens":                      {text: config("[" + strings.Repeat("1,", 4_000_000) + "]")},
		"many unknown attributes":          {text: "job \"x\" {\n" + numbered("a%d = 1\n", 20_000) + "}\n"},
		"many unknown blocks":              {text: "job \"x\" {\n" + strings.Repeat("b {}\n", 20_000) + "}\n"},
		"many faulty values":               {text: "job \"x\" {\n task \"t\" {\n env {\n" + numbered("a%d = [1]\n", 20_000) + "}\n}\n}\n"},
		"converting many values":           {text: config("join(\"\", [" + strings.Repeat("1,", 100_000) + "])")},
		"a default of many values":         {text: "variable \"v\" {\n type = list(string)\n default = [" + strings.Repeat("1,", 100_000) + "]\n}\n" + config("var.v")},
		"a default of many values in JSON": {text: `{"variable": {"v": {"type": "list(string)", "default": [` + strings.Repeat("1,", 100_000) + `1]}}, "job": {"x": {}}}`},
		"many faults of syntax":            {text: strings.Repeat("a =\n", 50_000)},
		"a condition of many values":       {text: config("true ? [" + strings.Repeat("1,", 100_000) + "] : [" + strings.Repeat("true,", 100_000) + "null]")},
		"a long text":                      {text: config("<<EOT\n" + strings.Repeat("line\n", 200_000) + "EOT\n")},
		"a text in many pieces":            {text: config("\"" + strings.Repeat("$ ", 200_000) + "\"")},
		"open comments":                    {text: config(deep("/* "))},
		"open comments in a large file":    {text: config(strings.Repeat("/* ", 2000) + strings.Repeat(" ", 10<<20))},
		"shifts":                           {text: config(deep("<<"))},
		"JSON brackets":                    {text: `{"job":` + deep("[")},
		"JSON objects":                     {text: `{"job":` + deep(`{"a":`)},
		"JSON strings":                     {text: `{"job":{"x":{"name":"` + deep("${[") + `"}}}`},
		"JSON digits":                      {text: `{"job":{"x":{"priority":` + strings.Repeat("9", 1_000_000) + `}}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, diagnostics := jobspec.Parse(jobspec.Source{Name: "x.nomad.hcl", Text: []byte(test.text)}, test.opts)
			if file.Job != nil || !diagnostics.HasErrors() {
				t.Error("there is no error")
			}
			if len(diagnostics) > 1001 {
				t.Errorf("there are %d diagnostics", len(diagnostics))
			}
		})
	}
}

// doubling returns sixty locals, each computed from the previous one.
func doubling(format string) string {
	var b strings.Builder
	b.WriteString("locals {\n  a0 = 1e10\n")
	for i := range 60 {
		fmt.Fprintf(&b, "  a%d = %s\n", i+1, fmt.Sprintf(format, i))
	}
	return b.String() + "}\n"
}

// squares returns nested loops, each over the square of the outer one's result.
func squares(n int) string {
	expr := fmt.Sprintf(`"${x%d}"`, n)
	for i := n; i > 0; i-- {
		expr = fmt.Sprintf("[for x%d in [x%d * x%d] : %s]", i, i-1, i-1, expr)
	}
	return "[for x0 in [1e10] : " + expr + "]"
}

func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  a%d = local.a%d\n", i+1, i)
	}
	return b.String()
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}
