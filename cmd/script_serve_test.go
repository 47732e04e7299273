package cmd

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"
)

// serve serves the files of a directory at $URL, and in addition
//
//	/bomb.tar.gz     with 5000 files
//	/huge.tar.gz     whose only file claims to have 200 GB
//	/escape.tar.gz   whose only file is two directories up
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve DIR")
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(ts.MkAbs(args[0]))))
	mux.HandleFunc("/bomb.tar.gz", func(w http.ResponseWriter, _ *http.Request) {
		archive(w, 0, func(i int) string { return fmt.Sprint("file", i) }, 5000)
	})
	mux.HandleFunc("/huge.tar.gz", func(w http.ResponseWriter, _ *http.Request) {
		archive(w, 200_000_000_000, func(int) string { return "huge" }, 1)
	})
	mux.HandleFunc("/escape.tar.gz", func(w http.ResponseWriter, _ *http.Request) {
		archive(w, 0, func(int) string { return "../../escaped" }, 1)
	})
	server := httptest.NewServer(mux)
	ts.Defer(server.Close)
	ts.Setenv("URL", server.URL)
}

// archive writes n headers of files without content.
func archive(to io.Writer, size int64, name func(int) string, n int) {
	packed := gzip.NewWriter(to)
	w := tar.NewWriter(packed)
	for i := range n {
		_ = w.WriteHeader(&tar.Header{Name: name(i), Mode: 0o600, Size: size}) // the reader reports the error
	}
	if size == 0 {
		_ = w.Close()
	}
	_ = packed.Close()
}
