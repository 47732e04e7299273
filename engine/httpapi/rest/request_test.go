package rest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// connection is a response that remembers the deadlines of its connection.
type connection struct {
	*httptest.ResponseRecorder
	read, write []time.Time
}

func (c *connection) SetReadDeadline(t time.Time) error {
	c.read = append(c.read, t)
	return nil
}

func (c *connection) SetWriteDeadline(t time.Time) error {
	c.write = append(c.write, t)
	return nil
}

// limited fails unless a connection had a limit for some time, and has none now.
func limited(t *testing.T, what string, deadlines []time.Time, limit time.Duration) {
	t.Helper()
	if len(deadlines) != 2 || !deadlines[1].IsZero() || time.Until(deadlines[0]) > limit || time.Until(deadlines[0]) < limit-time.Minute {
		t.Errorf("deadlines of the %s: %v", what, deadlines)
	}
}

func query(text string) *Request {
	q, _ := url.ParseQuery(text)
	return &Request{Query: q}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "false true 0 false default", "b=true&n=7&origin=start&namespace=x": "true true 7 false x", "b=0&n=-1&origin=end": "false false -1 true default",
	} {
		r := query(text)
		flag, err := r.Flag("b")
		or, err2 := r.FlagOr("b", true)
		n, err3 := r.Number("n")
		end, err4 := r.FromEnd()
		if err := errors.Join(err, err2, err3, err4); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got := fmt.Sprint(flag, or, n, end, " ", r.Namespace()); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	r := query("b=x&n=x&origin=x")
	_, err := r.Flag("b")
	_, err2 := r.Number("n")
	end, err3 := r.FromEnd()
	for want, err := range map[string]error{
		`Failed to parse value of "b" (x) as a bool: strconv.ParseBool: parsing "x": invalid syntax`: err,
		`error parsing n: strconv.ParseInt: parsing "x": invalid syntax`:                             err2,
		"origin must be start or end": err3,
	} {
		if err == nil || err.Error() != want || StatusOf(err) != http.StatusBadRequest {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if end {
		t.Error("an origin of no kind is the end")
	}
}

// A request includes the objects of its namespace or, if namespaces are only
// names, of all.
func TestInNamespace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query, namespace string
		apart, want      bool
	}{
		{"", "default", false, true},
		{"", "x", false, true},
		{"", "default", true, true},
		{"", "x", true, false},
		{"namespace=*", "x", true, true},
		{"namespace=x", "x", true, true},
		{"namespace=x", "default", false, false},
	} {
		r := query(c.query)
		r.Apart = c.apart
		if r.InNamespace(c.namespace) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

func TestIsName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"azAZ09": true, "a-_": true, "abcdefgh": true, "abcdefghi": false, "": false, "a b": false, "a.b": false, "\u00e9": false,
		"@": false, "[": false, "`": false, "{": false, "/": false, ":": false,
	} {
		if IsName(name, 8, "-_") != want {
			t.Errorf("%q: not %t", name, want)
		}
	}
}

// A body is read in bounded time; later ones of the same connection have their
// own time.
func TestTimeOfABody(t *testing.T) {
	t.Parallel()
	decode := func(w http.ResponseWriter, body string) (int, error) {
		var n int
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/", strings.NewReader(body))
		return n, NewAnswers().Request(w, r, "").DecodeUpTo(3, &n)
	}
	w := &connection{ResponseRecorder: httptest.NewRecorder()}
	if _, err := decode(w, "123"); err != nil {
		t.Error(err)
	}
	limited(t, "body", w.read, BodyTime)
	for body, want := range map[string]string{"1234": "http: request body too large", "": "Request body is empty", "[": "unexpected EOF"} {
		if _, err := decode(w, body); err == nil || err.Error() != want || StatusOf(err) != http.StatusBadRequest {
			t.Errorf("%q: %v, want %s", body, err, want)
		}
	}
	if _, err := decode(httptest.NewRecorder(), "1"); !errors.Is(err, http.ErrNotSupported) {
		t.Errorf("without deadlines: %v", err)
	}
}

// A response has its type, and bounded time.
func TestTimeOfAResponse(t *testing.T) {
	t.Parallel()
	w := &connection{ResponseRecorder: httptest.NewRecorder()}
	answers := NewAnswers()
	r := answers.Request(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), "")
	if err := r.JSON(http.StatusAccepted, "x"); err != nil || w.Code != http.StatusAccepted || w.Body.String() != `"x"` || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %q %q, %v", w.Code, w.Header(), w.Body, err)
	}
	limited(t, "response", w.write, ReadTime)
	if n := answers.unread.Load(); n != 0 {
		t.Errorf("%d bytes are unread", n)
	}
	if err := r.JSON(http.StatusOK, strings.Repeat("x", maxUnread)); err != nil {
		t.Errorf("the only response, which is large: %v", err)
	}
}

// A filter has at most 4096 bytes.
func TestLengthOfAFilter(t *testing.T) {
	t.Parallel()
	for _, more := range []int{0, 1} {
		filter := `Text == ""`
		filter += strings.Repeat(" ", maxFilter-len(filter)+more)
		_, err := Filtered(&Request{Query: url.Values{"filter": {filter}}}, []struct{ Text string }{{}})
		if tooLong := err != nil && strings.HasSuffix(err.Error(), ": it is longer than 4096 bytes"); tooLong != (more > 0) || err != nil && !tooLong {
			t.Errorf("%d bytes: %v", len(filter), err)
		}
	}
}
