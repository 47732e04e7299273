package httpapi

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"
)

// gatherTime is how long what happens to a file that is followed is gathered
// before it is told.
const gatherTime = 50 * time.Millisecond

// What happens to a file that is followed, in Nomad's words.
const (
	fileDeleted   = "file deleted"
	fileTruncated = "file truncated"
)

// fileStream sends a file as frames.
type fileStream struct {
	logWriter
	*place
	wake   <-chan struct{} // something may have happened to the file
	file   *os.File
	offset int64
}

// streamFile answers GET /v1/client/fs/stream/:id with frames: of what is in
// the file and, unless the request says otherwise, of what is still to come,
// until the client leaves or the file is gone.
func (s *Server) streamFile(w http.ResponseWriter, r *request) error {
	follow := true
	if r.query.Get("follow") != "" {
		var err error
		if follow, err = r.flag("follow"); err != nil {
			return err
		}
	}
	offset := int64(0)
	if raw := r.query.Get("offset"); raw != "" {
		var err error
		if offset, err = strconv.ParseInt(raw, 10, 64); err != nil {
			return fail(http.StatusBadRequest, "error parsing offset: %v", err)
		}
	}
	p, err := s.place(r)
	if err != nil {
		return err
	}
	defer p.root.Close()
	f, info, err := p.open()
	if err != nil {
		return err
	}
	defer f.Close()
	switch r.query.Get("origin") {
	case "", "start":
	case "end":
		offset = info.Size() - offset
	default:
		return fail(http.StatusBadRequest, "origin must be start or end")
	}
	w.Header().Set("Content-Type", "application/json")
	stream := fileStream{
		logWriter: logWriter{w: w, control: http.NewResponseController(w)},
		place:     p, file: f, offset: min(max(0, offset), info.Size()),
	}
	if follow {
		// Before the first reading, so that nothing falls between the two.
		var leave func()
		stream.wake, leave = s.files.follow(filepath.Join(p.root.Name(), filepath.Dir(p.name)))
		defer leave()
	}
	if err := stream.run(r.Context(), follow); err != nil {
		panic(http.ErrAbortHandler) // cuts the connection
	}
	return nil
}

func (s *fileStream) run(ctx context.Context, follow bool) error {
	if err := s.send(""); err != nil || !follow {
		return err
	}
	beat := time.NewTicker(heartbeatTime)
	defer beat.Stop()
	var gathered <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return s.send("")
		case <-s.wake:
			if gathered == nil {
				gathered = time.After(gatherTime)
			}
		case <-gathered:
			gathered = nil
			if gone, err := s.look(); err != nil || gone {
				return err
			}
		case <-beat.C: // and not everything that happens is told
			if err := s.beat(); err != nil {
				return err
			}
			if gone, err := s.look(); err != nil || gone {
				return err
			}
		}
	}
}

// look tells what has become of the file since the look before.
func (s *fileStream) look() (gone bool, err error) {
	event, err := s.changed()
	if err != nil {
		return false, err
	}
	return event == fileDeleted, s.send(event)
}

// changed tells what happened to the file besides that it grew.
func (s *fileStream) changed() (event string, err error) {
	info, err := s.file.Stat()
	if err != nil {
		return "", err
	}
	now, err := s.root.Lstat(s.name)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(info, now):
		return fileDeleted, nil
	case err != nil:
		return "", err
	case info.Size() < s.offset:
		s.offset = 0
		return fileTruncated, nil
	}
	return "", nil
}

// send sends what there is behind the offset, then or before that an event.
func (s *fileStream) send(event string) error {
	if event == fileTruncated {
		if err := s.frame(&api.StreamFrame{File: s.name, FileEvent: event}); err != nil {
			return err
		}
	}
	buf := make([]byte, frameSize)
	for {
		n, err := s.file.ReadAt(buf, s.offset)
		if n > 0 {
			s.offset += int64(n)
			if err := s.frame(&api.StreamFrame{Data: buf[:n], File: s.name, Offset: s.offset}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if event == fileDeleted {
		if err := s.frame(&api.StreamFrame{File: s.name, FileEvent: event}); err != nil {
			return err
		}
	}
	return s.control.Flush()
}
