package template

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/Masterminds/sprig/v3"
)

// sprigs are the functions whose replacements only check the size.
var sprigs = sync.OnceValue(sprig.HermeticTxtFuncMap)

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
