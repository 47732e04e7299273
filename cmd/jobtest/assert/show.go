package assert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"taskrun/cmd/jobtest"
	"taskrun/jobspec/redact"
	"taskrun/jobspec/visible"
)

const (
	maxShown    = 400                    // characters of a value
	maxBytes    = maxShown * utf8.UTFMax // a longer text has more characters than are shown
	maxText     = 120                    // of a string in it
	maxElements = 8                      // of a list in it
	maxMessage  = 2000                   // of an error_message
	maxValues   = 50                     // parts of a condition
	hidden      = "(hidden)"
)

// mask removes the secrets from a text.
type mask func(string) string

// minSecret is how long a secret is, in bytes, that is hidden wherever it is.
const minSecret = 4

// tokens are variables of tasks that hold secrets.
var tokens = []string{"NOMAD_TOKEN", "VAULT_TOKEN", "CONSUL_HTTP_TOKEN", "CONSUL_TOKEN"}

// maskOf returns one that hides the secrets of an outcome, and credentials in URLs.
func maskOf(o *jobtest.Outcome) mask {
	secrets := slices.Clone(o.Secrets)
	for _, t := range o.Tasks {
		for _, name := range tokens {
			secrets = append(secrets, t.Env[name])
		}
	}
	return redact.Values(secrets, minSecret, hidden)
}

// clean makes a text fit to be shown.
func (hide mask) clean(text string) string { return visible.Text(hide(text)) }

// show returns a value in the words of HCL, shortened.
func (hide mask) show(value cty.Value) string {
	var b strings.Builder
	hide.write(&b, value)
	return cut(b.String(), maxShown)
}

func (hide mask) write(b *strings.Builder, value cty.Value) {
	t := value.Type()
	switch {
	case value.IsNull():
		b.WriteString("null")
	case !value.IsKnown():
		b.WriteString("(unknown)")
	case t == cty.String:
		b.WriteString(strconv.Quote(cut(hide(value.AsString()), maxText)))
	case t == cty.Number:
		b.WriteString(value.AsBigFloat().Text('f', -1))
	case t == cty.Bool:
		b.WriteString(strconv.FormatBool(value.True()))
	case t.Equals(jobtest.EventType):
		at := value.GetAttr("at").AsBigFloat().Text('f', -1)
		fmt.Fprintf(b, "%ss %s", at, value.GetAttr("type").AsString())
		if message := value.GetAttr("message").AsString(); message != "" {
			fmt.Fprintf(b, " (%s)", strconv.Quote(cut(hide(message), maxText)))
		}
	case t.IsMapType(), t.IsObjectType():
		hide.writeMap(b, value)
	case t.IsListType(), t.IsTupleType(), t.IsSetType():
		hide.writeList(b, value)
	default:
		b.WriteString(t.FriendlyName())
	}
}

func (hide mask) writeMap(b *strings.Builder, value cty.Value) {
	b.WriteString("{")
	separator := ""
	for it := value.ElementIterator(); it.Next() && b.Len() <= maxBytes; separator = ", " {
		name, element := it.Element()
		b.WriteString(separator + strconv.Quote(name.AsString()) + " = ")
		hide.write(b, element)
	}
	b.WriteString("}")
}

func (hide mask) writeList(b *strings.Builder, value cty.Value) {
	n := value.LengthInt()
	fmt.Fprintf(b, "[")
	i := 0
	for it := value.ElementIterator(); it.Next() && b.Len() <= maxBytes; i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == maxElements {
			fmt.Fprintf(b, "… %d in all", n)
			break
		}
		_, element := it.Element()
		hide.write(b, element)
	}
	b.WriteString("]")
}

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}
