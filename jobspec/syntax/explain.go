package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"taskrun/jobspec/diagnostic"
)

// maxReworded limits the diagnostics that get a remedy: nobody reads more, and
// an unlimited number takes too long.
const maxReworded = 1000

// explain makes the diagnostics of the parser more helpful: it recognizes input
// for other tools, drops consequences of an earlier error, and adds remedies.
func explain(diags hcl.Diagnostics, text []byte, name string) hcl.Diagnostics {
	if !diags.HasErrors() {
		return diags
	}
	if comment := findOpenComment(text, name); comment != nil {
		return hcl.Diagnostics{comment}
	}
	if template := findTemplate(diags, text, name); template != nil {
		return hcl.Diagnostics{template}
	}
	for i, diag := range diags[:min(len(diags), maxReworded)] {
		if diag.Summary == "Invalid multi-line string" {
			// After an unclosed string, the parser mistakes strings for code
			// and code for strings.
			diag.Summary, diag.Detail = "this string is not closed", ""
			diagnostic.SetRemedy(diag, `add the closing quote; text of several lines goes between <<EOT and EOT`)
			return diags[:i+1]
		}
		reword(diag, text)
	}
	return withoutEchoes(diags)
}

// reword replaces general words of the parser by specific ones, and adds
// remedies for common mistakes in older job files.
func reword(diag *hcl.Diagnostic, text []byte) {
	say := func(summary, detail, remedy string) {
		diag.Summary, diag.Detail = summary, detail
		diagnostic.SetRemedy(diag, remedy)
	}
	at := subject(diag, text)
	switch diag.Summary {
	case "Invalid argument name":
		say("the name of an attribute has no quotes", "quoted names are HCL1, which Nomad has left behind",
			`write the name without quotes; one with dots goes into a map: env = { "A.B" = "1" }`)
	case "Invalid single-argument block definition":
		detail := ""
		if bytes.HasPrefix(at, []byte(",")) {
			detail = "commas between attributes are HCL1, which Nomad has left behind"
		}
		say("a block on one line holds one attribute", detail, "write each attribute on a line of its own")
	case "Unclosed configuration block":
		say("this block is not closed", "the file ends before its }; a } further down may close another block than it seems", "add the missing }")
	case "Unterminated template string":
		say("this text is not closed", "", "add the closing quote, or the end marker on a line of its own")
		if diag.Subject != nil {
			if begin, ok := openHeredoc(text, diag.Subject.Filename); ok {
				*diag.Subject = begin
			}
		}
	case "Invalid character":
		if bytes.HasPrefix(at, []byte("'")) {
			say("single quotes are not valid", "", `write "…"`)
		}
		if bytes.HasPrefix(at, []byte("$")) {
			say("a reference must be in a string", "", `write "${…}", or, for HCL's own values, no braces: var.NAME, local.NAME`)
		}
	case "Invalid escape sequence":
		say("invalid escape sequence", `valid are \n \r \t \" \\ \uXXXX \UXXXXXXXX`, `write \\ for a backslash`)
	case "Invalid string literal":
		if strings.Contains(diag.Detail, "Template sequences") {
			say("the name of a block cannot be computed", "", "write it out, or use a dynamic block with labels = […]")
		}
	case "Attribute redefined":
		if name, line, ok := redefined(diag.Detail); ok {
			say(name+" is given twice", "the first is on line "+line, "delete one of them")
		}
	}
}

// redefined extracts the name and the line of the first definition from the
// parser's `The argument "a" was already set at file:1,2-3. …`.
func redefined(detail string) (name, line string, ok bool) {
	found := regexp.MustCompile(`^The argument ("[^"]*") was already set at .*:(\d+),\d+-[\d,]+\. `).FindStringSubmatch(detail)
	if found == nil {
		return "", "", false
	}
	return found[1], found[2], true
}

// openHeredoc returns where a heredoc starts that is still open at the end of a
// text.
func openHeredoc(text []byte, name string) (at hcl.Range, ok bool) {
	tokens, _ := hclsyntax.LexConfig(text, name, start)
	n := nesting{}
	for _, token := range tokens {
		n.take(token)
		if token.Type == hclsyntax.TokenOHeredoc {
			begin := token.Range.Start.Byte
			at = RangeOf(text, name, begin, begin+len(bytes.TrimSpace(token.Bytes)))
		}
	}
	return at, len(n.open) > 0 && n.open[len(n.open)-1].opener == hclsyntax.TokenOHeredoc
}

// findOpenComment returns a diagnostic for a comment without an end: the
// scanner then reads its start as two operators.
func findOpenComment(text []byte, name string) *hcl.Diagnostic {
	tokens, _ := hclsyntax.LexConfig(text, name, start)
	for i, token := range tokens[:len(tokens)-1] {
		if next := tokens[i+1]; token.Type == hclsyntax.TokenSlash && next.Type == hclsyntax.TokenStar && token.Range.End == next.Range.Start {
			return diagnostic.Error(hcl.RangeBetween(token.Range, next.Range), "this comment is not closed", "", "add */")
		}
	}
	return nil
}

func subject(diag *hcl.Diagnostic, text []byte) []byte {
	if diag.Subject == nil || !diag.Subject.CanSliceBytes(text) {
		return nil
	}
	return diag.Subject.SliceBytes(text)
}

// withoutEchoes keeps the first error at each place.
func withoutEchoes(diags hcl.Diagnostics) hcl.Diagnostics {
	seen := map[hcl.Range]bool{}
	kept := diags[:0]
	for _, diag := range diags {
		if diag.Subject != nil && seen[*diag.Subject] {
			continue
		}
		if diag.Subject != nil {
			seen[*diag.Subject] = true
		}
		kept = append(kept, diag)
	}
	return kept
}

// explainJSON drops consequences of an earlier error: an invalid object seems
// to be unclosed, and so do the objects around it.
func explainJSON(diags hcl.Diagnostics, text []byte, name string) hcl.Diagnostics {
	kept := diags[:0]
	for i, diag := range diags {
		switch diag.Summary {
		case "Unclosed object", "Root value must be object":
			if i > 0 {
				continue
			}
		case "Missing attribute seperator comma":
			diag.Summary, diag.Detail = "a comma is missing", ""
			diagnostic.SetRemedy(diag, "write a comma before this")
			// The parser reports the end of the skipped part.
			if bad, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(text, new(any))); ok {
				*diag.Subject = RangeOf(text, name, int(bad.Offset)-1, int(bad.Offset))
			}
		}
		kept = append(kept, diag)
	}
	return kept
}

// findTemplate returns a diagnostic if an error is on a line that another tool
// must fill in before Nomad reads the file. Elsewhere, [[ … ]] and {{ … }}
// belong to scripts and templates of tasks.
func findTemplate(diags hcl.Diagnostics, text []byte, name string) *hcl.Diagnostic {
	// Levant and nomad-pack write [[ .name ]] or [[- if …]]; a nested list
	// never starts like that.
	levant := regexp.MustCompile(`\[\[-?\s*(/\*|[.$]|(if|else|end|range|with|define|template|var|include|file\w*|env|key)\b)`)
	braces := regexp.MustCompile(`\{\{.*\}\}`)
	const few, short = 20, 4096 // a template fails early, on short lines
	for _, diag := range diags[:min(len(diags), few)] {
		if diag.Subject == nil || diag.Subject.Start.Byte > len(text) {
			continue
		}
		begin := bytes.LastIndexByte(text[:diag.Subject.Start.Byte], '\n') + 1
		line, _, _ := bytes.Cut(text[begin:min(len(text), begin+short)], []byte("\n"))
		if at := levant.FindIndex(line); at != nil {
			return isTemplate(RangeOf(text, name, begin+at[0], begin+at[1]),
				"[[ … ]] is filled in by Levant or nomad-pack before Nomad reads the file",
				"render it first: levant render FILE | taskrun up -")
		}
		if at := braces.FindIndex(line); at != nil {
			return isTemplate(RangeOf(text, name, begin+at[0], begin+at[1]),
				"{{ … }} outside of a string is filled in by another tool, such as Helm or consul-template, before Nomad reads the file",
				"render it first, then pass the result on as -")
		}
	}
	return nil
}

func isTemplate(at hcl.Range, detail, remedy string) *hcl.Diagnostic {
	return diagnostic.Error(at, "this is a template for a job file, not a job file", detail, remedy)
}
