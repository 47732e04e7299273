package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

// gatherTime is how long changes of a followed file are collected before they
// are sent.
const gatherTime = 50 * time.Millisecond

// Events of a followed file, in Nomad's words.
const (
	fileDeleted   = "file deleted"
	fileTruncated = "file truncated"
)

// fileStream sends a file as frames.
type fileStream struct {
	*rest.Frames
	*place
	wake   <-chan struct{} // something may have happened to the file
	file   *os.File
	offset int64
}

// Stream answers GET /v1/client/fs/stream/:id with frames: the content of the
// file and, unless the request says otherwise, everything added later, until
// the client leaves or the file is gone.
func (h *Handler) Stream(r *rest.Request) error {
	follow, err := r.FlagOr("follow", true)
	if err != nil {
		return err
	}
	offset, err := r.Number("offset")
	if err != nil {
		return err
	}
	fromEnd, err := r.FromEnd()
	if err != nil {
		return err
	}
	p, err := h.find(r)
	if err != nil {
		return err
	}
	defer p.Close()
	f, info, err := p.open()
	if err != nil {
		return err
	}
	defer f.Close()
	if fromEnd {
		offset = info.Size() - offset
	}
	stream := fileStream{Frames: r.Frames(false), place: p, file: f, offset: min(max(0, offset), info.Size())}
	if follow {
		// Before the first read, so that no change is missed.
		var leave func()
		stream.wake, leave = h.watches.follow(filepath.Clean(p.parent.Name()))
		defer leave()
	}
	stream.End(stream.run(r.Context(), follow), false)
	return nil
}

func (s *fileStream) run(ctx context.Context, follow bool) error {
	if err := s.send(""); err != nil || !follow {
		return err
	}
	beat := time.NewTicker(rest.BeatTime)
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
		case <-beat.C: // the watcher may miss a change
			if err := s.Beat(); err != nil {
				return err
			}
			if gone, err := s.look(); err != nil || gone {
				return err
			}
		}
	}
}

// look checks what has happened to the file since the last call.
func (s *fileStream) look() (gone bool, err error) {
	event, err := s.changed()
	if err != nil {
		return false, err
	}
	return event == fileDeleted, s.send(event)
}

// changed returns the event of a change other than growth.
func (s *fileStream) changed() (event string, err error) {
	info, err := s.file.Stat()
	if err != nil {
		return "", err
	}
	now, err := s.parent.Lstat(s.base)
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

// send sends an event, if not empty, and the content from the offset on.
func (s *fileStream) send(event string) error {
	if event == fileTruncated {
		if err := s.Write(&api.StreamFrame{File: s.name, FileEvent: event}); err != nil {
			return err
		}
	}
	buf := make([]byte, frameSize)
	for {
		n, err := s.file.ReadAt(buf, s.offset)
		if n > 0 {
			s.offset += int64(n)
			if err := s.Write(&api.StreamFrame{Data: buf[:n], File: s.name, Offset: s.offset}); err != nil {
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
		if err := s.Write(&api.StreamFrame{File: s.name, FileEvent: event}); err != nil {
			return err
		}
	}
	return s.Flush()
}
