package template

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/davecgh/go-spew/spew"
)

// sprigs are the functions whose replacements only check the size.
var sprigs = sync.OnceValue(sprig.HermeticTxtFuncMap)

// functions returns the functions that instrument inserts, and replacements for
// functions that produce large results from small arguments.
func (g *guard) functions() template.FuncMap {
	table := template.FuncMap{
		"print":        g.limited(fmt.Sprint),
		"println":      g.limited(fmt.Sprintln),
		"html":         g.limited(template.HTMLEscaper),
		"js":           g.limited(template.JSEscaper),
		"urlquery":     g.limited(template.URLQueryEscaper),
		"spew_sdump":   g.limited(spew.Sdump),
		"spew_sprintf": g.formatted(spew.Sprintf),
		"sprig_cat":    g.limited(sprigs()["cat"].(func(...any) string)),
		stepFunc:       func(length int) (string, error) { return "", g.write(length) },
		outFunc:        func(v reflect.Value) (reflect.Value, error) { return v, g.write(sizeOf(v, maxDepth)) },
		valueFunc:      func(v reflect.Value) (reflect.Value, error) { return v, g.check(sizeOf(v, maxDepth)) },
		"loop":         g.loop,
		"indent": func(spaces int, s string) (string, error) {
			if spaces < 0 {
				return "", fmt.Errorf("indent value must be a positive integer")
			}
			if err := g.check(add(len(s), times(spaces, 1+strings.Count(s, "\n")))); err != nil {
				return "", err
			}
			pad := strings.Repeat(" ", spaces)
			lines := strings.SplitAfter(s, "\n")
			for i, line := range lines {
				if line != "" && line != "\n" {
					lines[i] = pad + line
				}
			}
			return strings.Join(lines, ""), nil
		},
		"join": func(separator string, list []string) (string, error) {
			if err := g.check(sizeOfJoined(separator, list)); err != nil {
				return "", err
			}
			return strings.Join(list, separator), nil
		},
		"printf":          g.formatted(fmt.Sprintf),
		"regexReplaceAll": func(pattern, with, s string) (string, error) { return g.replacePattern(pattern, s, with) },
		"replaceAll":      func(old, with, s string) (string, error) { return g.replace(old, with, s) },
		"sprig_join": func(separator string, list any) (string, error) {
			if err := g.check(sizeOfJoined(separator, list)); err != nil {
				return "", err
			}
			return sprigs()["join"].(func(string, any) string)(separator, list), nil
		},
		"sprig_wrapWith": func(length int, with, s string) (string, error) {
			if err := g.check(add(len(s), times(2*len(s)/max(length, 1)+1, len(with)))); err != nil {
				return "", err
			}
			return sprigs()["wrapWith"].(func(int, string, string) string)(length, with, s), nil
		},
		"sprig_regexReplaceAll":            g.replacePattern,
		"sprig_mustRegexReplaceAll":        g.replacePattern,
		"sprig_regexReplaceAllLiteral":     g.replaceLiteral,
		"sprig_mustRegexReplaceAllLiteral": g.replaceLiteral,

		"sprig_replace":   g.replace,
		"sprig_repeat":    g.repeat,
		"sprig_indent":    g.indent,
		"sprig_nindent":   func(spaces int, s string) (string, error) { s, err := g.indent(spaces, s); return "\n" + s, err },
		"sprig_until":     func(count int) ([]int, error) { return g.untilStep(0, count, sign(count)) },
		"sprig_untilStep": g.untilStep,
		"sprig_seq":       g.seq,
	}
	if g.below != nil {
		table["sprig_randInt"] = g.randInt
		table["sprig_shuffle"] = g.shuffle
	}
	return table
}

func (g *guard) randInt(least, limit int) (int, error) {
	if limit-least <= 0 {
		return 0, fmt.Errorf("there is no number from %d to below %d", least, limit)
	}
	return least + g.below(limit-least), nil
}

func (g *guard) shuffle(s string) string {
	runes := []rune(s)
	for i := len(runes) - 1; i > 0; i-- {
		other := g.below(i + 1)
		runes[i], runes[other] = runes[other], runes[i]
	}
	return string(runes)
}

// limited returns a function that joins its arguments. A template can name a large
// value often.
func (g *guard) limited(join func(args ...any) string) any {
	return func(args ...any) (string, error) {
		if err := g.check(sizeOf(reflect.ValueOf(args), maxDepth)); err != nil {
			return "", err
		}
		return join(args...), nil
	}
}

// formatted returns a function that formats its arguments.
func (g *guard) formatted(format func(format string, args ...any) string) any {
	return func(text string, args ...any) (string, error) {
		if err := g.check(sizeOfFormatted(text, args)); err != nil {
			return "", err
		}
		return format(text, args...), nil
	}
}

// replacePattern replaces all matches. It counts them first, without a list.
func (g *guard) replacePattern(pattern, s, with string) (string, error) {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	size, references := len(s), strings.Count(with, "$")
	compiled.ReplaceAllStringFunc(s, func(match string) string {
		size = add(size, add(len(with), times(references, len(match))))
		return ""
	})
	if err := g.check(size); err != nil {
		return "", err
	}
	return compiled.ReplaceAllString(s, with), nil
}

func (g *guard) replaceLiteral(pattern, s, with string) (string, error) {
	return g.replacePattern(pattern, s, strings.ReplaceAll(with, "$", "$$"))
}

func sizeOfJoined(separator string, list any) int {
	v := reflect.ValueOf(list)
	size := sizeOf(v, maxDepth)
	if k := v.Kind(); k == reflect.Slice || k == reflect.Array {
		size = add(size, times(v.Len(), len(separator)))
	}
	return size
}

// maxWidth is the maximum width and precision in package fmt.
const maxWidth = 1_000_000

// sizeOfFormatted estimates the size of a formatted text. A format can have an
// argument several times, by its number.
func sizeOfFormatted(format string, args []any) int {
	size, largest := len(format), 0
	for _, a := range args {
		of := sizeOf(reflect.ValueOf(a), maxDepth)
		size, largest = add(size, of), max(largest, of)
	}
	for i, verb := range strings.Split(format, "%") {
		if i == 0 {
			continue
		}
		flags := verb[:len(verb)-len(strings.TrimLeft(verb, "+-# .*[]0123456789"))]
		if strings.Contains(flags, "[") {
			size = add(size, largest)
		}
		size = add(size, times(strings.Count(flags, "*"), maxWidth))
		for _, number := range strings.FieldsFunc(flags, func(r rune) bool { return r < '0' || '9' < r }) {
			n, _ := strconv.Atoi(number)
			size = add(size, min(n, maxWidth))
		}
	}
	return size
}
