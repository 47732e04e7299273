package artifact

import (
	"errors"
	"net/url"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/taskenv"
)

// public are the options whose values may be shown.
var public = map[string]bool{"archive": true, "checksum": true, "depth": true, "filename": true, "ref": true}

// hide remembers what must appear in no event: passwords, keys, headers.
func (o *order) hide(a *api.TaskArtifact, env *taskenv.Env, text string) {
	add := func(secret string) {
		if len(secret) > 3 { // else it would hide half of every text
			o.secrets = append(o.secrets, secret, url.QueryEscape(secret), url.PathEscape(secret))
		}
	}
	for name, value := range a.GetterOptions {
		if !public[name] {
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
		host, _, _ := strings.Cut(after, "/")
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			_, password, _ := strings.Cut(host[:at], ":")
			add(password)
			if plain, err := url.PathUnescape(password); err == nil {
				add(plain)
			}
		}
	}
}

// clean returns a text without secrets.
func (o *order) clean(text string) string {
	for _, secret := range o.secrets {
		text = strings.ReplaceAll(text, secret, "xxxxx")
	}
	return text
}

// reason is an error without the URL that the standard library puts before it:
// there may be a token in its query.
func reason(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
