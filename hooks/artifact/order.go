package artifact

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-getter/v2"
	"github.com/hashicorp/nomad/api"

	"taskrun/hooks/artifact/unpack"
	source "taskrun/jobspec/artifact"
	"taskrun/jobspec/redact"
	"taskrun/jobspec/taskenv"
)

// order is one download: an artifact block with its references replaced.
type order struct {
	shown    string // the source as in the job file, without secrets
	kind     string // source.HTTP, source.Git or source.File
	url      *url.URL
	query    url.Values // options for the getter
	headers  map[string]string
	insecure bool
	chown    bool   // give the result to the task's user
	checksum string // type:hex, empty for none
	archive  string // kind of archive; empty: do not unpack
	subdir   string // glob that selects part of a directory; empty: all of it
	mode     string // any, file or dir
	name     string // file name, in mode any
	dest     string // absolute: the file in mode file, otherwise a directory
	secrets  secrets
}

// detectors convert sources without a scheme to git URLs.
var detectors = []getter.Detector{
	new(getter.GitHubDetector), new(getter.GitDetector), new(getter.BitBucketDetector), new(getter.GitLabDetector),
}

// newOrder reads an artifact block. References are replaced where Nomad does
// it: in the source, the destination, and the values of options and headers.
func newOrder(a *api.TaskArtifact, env *taskenv.Env) (*order, error) {
	o := &order{mode: *a.GetterMode, insecure: *cmp.Or(a.GetterInsecure, new(false)), chown: a.Chown, headers: map[string]string{}}
	text := env.Replace(*a.GetterSource)
	o.secrets = secretsOf(a, env, text)
	o.shown = redact.URL(*a.GetterSource)
	if kind, not := source.Unsupported(text); not {
		return o, fmt.Errorf("sources of kind %q are not supported here", kind)
	}
	o.kind = source.Kind(text)
	if err := o.parse(text); err != nil {
		return o, err
	}
	for name, value := range a.GetterOptions {
		o.query.Set(name, env.Replace(value))
	}
	for name, value := range a.GetterHeaders {
		o.headers[name] = env.Replace(value)
	}
	var escapes bool
	if o.dest, escapes = env.ClientPath(*a.RelativeDest, true); escapes {
		return o, fmt.Errorf("destination %q is in neither the task's directory nor the shared one of the allocation", *a.RelativeDest)
	}
	return o, o.interpret()
}

// parse splits a source: [kind::]url[//subdir][?query].
func (o *order) parse(text string) error {
	_, text = source.Forced(text)
	if u, err := url.Parse(text); o.kind == source.Git && (err != nil || u.Scheme == "") && !filepath.IsAbs(text) {
		for _, d := range detectors {
			found, ok, err := d.Detect(text, "")
			if err != nil {
				return err
			}
			if ok {
				_, text = source.Forced(found)
				break
			}
		}
	}
	text, o.subdir = getter.SourceDirSubdir(text)
	u, err := url.Parse(text)
	if err != nil { // the error's text contains parts of the URL
		return errors.New("the source is not a valid URL: write special characters in user name and password as %XX")
	}
	o.url, o.query = u, u.Query()
	if slices.Contains(strings.Split(o.subdir, "/"), "..") {
		return fmt.Errorf("subdirectory %q leads out of the download", o.subdir)
	}
	return nil
}

// interpret removes from the query the parameters that are not meant for the
// server.
func (o *order) interpret() error {
	archive := o.take("archive")
	if o.checksum = o.take("checksum"); o.checksum != "" {
		if _, err := newSum(o.checksum); err != nil {
			return err
		}
	}
	if o.kind == source.Git {
		if o.checksum != "" {
			return errors.New("a checksum is for a file, not for a repository")
		}
		o.take("filename")
		return nil
	}
	if o.name = path.Base(o.url.Path); o.mode == "any" {
		if name := o.take("filename"); name != "" {
			o.name = name
		}
		if !filepath.IsLocal(o.name) {
			return fmt.Errorf("%q is not a name for a file", o.name)
		}
	}
	if yes, err := strconv.ParseBool(archive); err == nil && !yes {
		return o.plain()
	}
	if o.archive = archive; archive == "" {
		o.archive = unpack.KindOf(o.url.Path)
	} else if !slices.Contains(unpack.Kinds(), archive) {
		return fmt.Errorf("unknown kind of archive %q: there are %s", archive, strings.Join(unpack.Kinds(), ", "))
	}
	switch {
	case o.archive == "":
		return o.plain()
	case unpack.Single(o.archive) && o.mode != "file":
		return fmt.Errorf(`%s files hold a single file: write mode = "file", or options { archive = "false" } to keep it packed`, o.archive)
	}
	return nil
}

// plain checks a source that is not unpacked.
func (o *order) plain() error {
	switch {
	case o.kind == source.File:
		return nil // it may be a directory
	case o.subdir != "":
		return fmt.Errorf("there can be no %q in a single file", o.subdir)
	case o.mode == "dir", o.mode == "any" && strings.HasSuffix(o.url.Path, "/"):
		return errors.New("the source is not an archive, and http has no directories")
	}
	return nil
}

func (o *order) take(name string) string {
	value := o.query.Get(name)
	o.query.Del(name)
	return value
}

// address returns the URL that the getter requests.
func (o *order) address() string {
	u := *o.url
	u.RawQuery = o.query.Encode()
	return u.String()
}
