package prose

import (
	"testing"
	"time"
	"unicode/utf8"

	"taskrun/jobspec/visible"
)

// Durations are as short as possible.
func TestDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration][2]string{
		0:                        {"<1ms", "<1ms"},
		time.Millisecond - 1:     {"<1ms", "<1ms"},
		time.Millisecond:         {"1ms", "1ms"},
		1234 * time.Microsecond:  {"1ms", "1ms"},
		999 * time.Millisecond:   {"999ms", "999ms"},
		time.Second:              {"1s", "1s"},
		9999 * time.Millisecond:  {"9.999s", "9s"},
		10040 * time.Millisecond: {"10s", "10s"},
		12345 * time.Millisecond: {"12.3s", "12s"},
		time.Minute:              {"1m0s", "1m0s"},
		61600 * time.Millisecond: {"1m2s", "1m1s"},
		time.Hour - 1:            {"1h0m0s", "59m59s"},
		time.Hour:                {"1h0m0s", "1h0m"},
		26*time.Hour + 180e9:     {"26h3m0s", "26h3m"},
	} {
		if got := [2]string{Duration(d), Brief(d)}; got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}

func TestShortID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"": "", "0123": "0123", "01234567": "01234567", "01234567-89ab": "01234567"} {
		if got := ShortID(id); got != want {
			t.Errorf("%q: %q", id, got)
		}
	}
}

// Numbers agree with their nouns.
func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 tasks", 1: "1 task", 2: "2 tasks"} {
		if got := Count(n, "task"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestUnstyled(t *testing.T) {
	t.Parallel()
	if got := Unstyled("\x1b[31mred\x1b[0m"); got != "red" {
		t.Errorf("without style, %q", got)
	}
}

// A cut text is no wider than the limit, and consists of complete characters.
func FuzzCuts(f *testing.F) {
	f.Add("日本語サービス[12]/タスク", 12)
	f.Add("👩🏽e\u0301\u0301🇩🇪 a b", 3)
	f.Add("a\u200d\t\x1b[31mb\xff", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		text, limit = visible.String(text), 1+int(uint(limit)%300)
		if got := Shorten(text, limit); Width(got) > limit || !utf8.ValidString(got) {
			t.Errorf("%q shortened to %d is %q", text, limit, got)
		}
	})
}

// A text loses its middle, but not the index of a group.
func TestShorten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abcdefghij", 10, "abcdefghij"},
		{"abcdefghij", 9, "abcd…ghij"},
		{"abcdefghij", 8, "abc…ghij"},
		{"abcdefghij", 2, "…j"},
		{"abcdefghij", 1, "…"},
		{"group[12]/task", 14, "group[12]/task"},
		{"group[12]/task", 13, "g…up[12]/task"},
		{"group[12]/task", 11, "g…p[12]/t…k"},
		{"group[12]/task", 10, "grou…/task"},
		{"g[12]/a-long-task", 13, "g[12]/a-l…ask"},
		{"a-long-group[12]/t", 14, "a-l…roup[12]/t"},
		{"group[x]/task", 12, "group…]/task"},
		{"group[12]task", 12, "group…2]task"},
	} {
		if got := Shorten(c.text, c.limit); got != c.want {
			t.Errorf("%s in %d: %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}
