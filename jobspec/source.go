package jobspec

// Source is a job file's text and the name that problems give for it.
type Source struct {
	Name string
	Text []byte
}
