package syntax

// counts are upper limits for the number of elements in a text. Strings and
// comments are treated as code, so that no parser can find more.
type counts struct {
	brackets  int // opening brackets and quotes
	operators int
	tokens    int // accurate within a factor of 2
	pieces    int // of texts
	comments  int // comments that start after the last one that ends
	digits    int // of the longest number
}

func countBytes(text []byte) (c counts) {
	var last byte
	digits := 0
	for _, b := range text {
		switch {
		case '0' <= b && b <= '9':
			if !isWord(last) {
				c.tokens++
			}
			digits++
			c.digits = max(c.digits, digits)
		case isWord(b):
			if !isWord(last) || '0' <= last && last <= '9' {
				c.tokens++
			}
			if b != 'e' && b != 'E' {
				digits = 0
			}
		case b == '.':
			c.tokens++ // and a number continues
		default:
			digits = 0
			c.countMark(last, b)
		}
		last = b
	}
	return c
}

// countMark counts a byte that is not part of a name or a number.
func (c *counts) countMark(last, b byte) {
	c.tokens++
	switch b {
	case ' ', '\t':
		c.tokens--
	case '{', '[', '(', '"':
		c.brackets++
	case '\n':
		c.pieces++
	case '$', '%':
		c.pieces += 2
		c.operators++
	case '<':
		c.operators++
		if last == '<' {
			c.brackets++ // of a heredoc
		}
	case '=':
		if last == '=' {
			c.operators++
		}
	case '}', ']', ')', ',':
	default:
		c.operators++
	}
	if last == '/' && b == '*' {
		c.comments++
	} else if last == '*' && b == '/' {
		c.comments = 0
	}
}

func isWord(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_'
}
