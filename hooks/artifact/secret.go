package artifact

import (
	"errors"
	"net/url"
	"strings"

	"github.com/hashicorp/nomad/api"

	source "taskrun/jobspec/artifact"
	"taskrun/jobspec/redact"
	"taskrun/jobspec/taskenv"
)

// secrets must not appear in any event, not even outside of a URL: passwords,
// tokens, keys, headers.
type secrets []string

// secretsOf returns the secrets of an artifact block, and of its source after
// references are replaced.
func secretsOf(a *api.TaskArtifact, env *taskenv.Env, text string) (all secrets) {
	add := func(secret string) {
		if len(secret) > 3 { // a shorter one would hide half of every text
			all = append(all, secret, url.QueryEscape(secret), url.PathEscape(secret))
		}
	}
	for name, value := range a.GetterOptions {
		if source.IsSecret(name) {
			add(env.Replace(value))
		}
	}
	for _, value := range a.GetterHeaders {
		add(env.Replace(value))
	}
	for _, text := range []string{text, *a.GetterSource} {
		_, after, ok := strings.Cut(text, "://")
		if !ok {
			continue
		}
		rest, query, _ := strings.Cut(after, "?")
		for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' || r == '#' }) {
			if name, value, ok := strings.Cut(pair, "="); ok && source.IsSecret(name) {
				add(value)
				if plain, err := url.QueryUnescape(value); err == nil {
					add(plain)
				}
			}
		}
		host, _, _ := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			user, password, ok := strings.Cut(host[:at], ":")
			if !ok || password == "" { // https://TOKEN@host
				password = user
			}
			add(password)
			if plain, err := url.PathUnescape(password); err == nil {
				add(plain)
			}
		}
	}
	return all
}

// clean removes secrets from a text.
func (s secrets) clean(text string) string {
	text = redact.Text(text)
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, redact.Hidden)
	}
	return text
}

// reason returns an error without the URL that the standard library adds.
func reason(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
