package diagnostic

import (
	"strconv"

	"github.com/zclconf/go-cty/cty"
)

// Describe names a known value in a message: `the string "a"`, "a list".
func Describe(v cty.Value) string {
	switch t := v.Type(); {
	case v.IsNull():
		return "null"
	case t == cty.String:
		return "the string " + strconv.Quote(shorten(v.AsString()))
	case t == cty.Number:
		return "the number " + shorten(v.AsBigFloat().Text('g', 20))
	case t == cty.Bool:
		return strconv.FormatBool(v.True())
	case t.IsObjectType(), t.IsMapType():
		return "a map"
	case t.IsTupleType(), t.IsListType():
		return "a list"
	case t.IsSetType():
		return "a set"
	default:
		return "a " + t.FriendlyName()
	}
}

// shorten cuts a text that is too long for a message.
func shorten(text string) string {
	const most = 40
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
