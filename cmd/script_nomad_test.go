package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/hashicorp/nomad/api"

	drivercatalog "taskrun/drivers/catalog"
	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/service"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// fakeNomad is the command
//
//	nomad agent -dev -config FILE
//
// It is an engine that accepts its first job over HTTP, at the port of the file.
// FAKE_NOMAD makes it misbehave:
//
//	exits    it ends at once
//	hangs    it never answers, and ignores signals
//	refuses  it refuses every job
//	dies     it ends when it gets a job
//	differs  it gives tasks another environment
func fakeNomad() {
	how := os.Getenv("FAKE_NOMAD")
	fmt.Fprintln(os.Stderr, "==> \x1b[1mstarting\x1b[0m")
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "NOMAD_") {
			fmt.Fprintln(os.Stderr, "an agent must not get", v)
			os.Exit(1)
		}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	switch how {
	case "exits":
		fmt.Fprintln(os.Stderr, "==> it cannot start")
		os.Exit(1)
	case "hangs":
		select {}
	}
	file := os.Args[len(os.Args)-1]
	text, err := os.ReadFile(file)
	port := regexp.MustCompile(`http = (\d+)`).FindSubmatch(text)
	if err != nil || port == nil || strings.Join(os.Args[1:4], " ") != "agent -dev -config" {
		panic(fmt.Sprint(os.Args, err))
	}
	node := taskenv.Fingerprint()
	services, dir := &service.Catalog{}, filepath.Join(filepath.Dir(file), "engine")
	environ := os.Environ()
	if how == "differs" {
		environ = append(environ, "GREETING=other", "API_TOKEN=another secret")
	}
	e := engine.New(engine.Config{
		DataDir: dir, Drivers: drivercatalog.New(), Node: &node, HostEnv: environ, Services: services,
		Hooks: hookcatalog.New(hookcatalog.Options{DataDir: dir, Services: services}),
	})
	c := &fakeCluster{engine: e, open: true, api: httpapi.New(e, httpapi.Config{Node: &node, Version: "1.2.3", Preflight: clusterRules})}
	l, err := net.Listen("tcp", "127.0.0.1:"+string(port[1]))
	if err != nil {
		panic(err)
	}
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch registers := r.Method == http.MethodPut && r.URL.Path == "/v1/jobs"; {
			case registers && how == "refuses":
				http.Error(w, "1 error occurred:\n\t* there is no \x1b[31mregion\x1b[0m", http.StatusInternalServerError)
			case registers && how == "dies":
				os.Exit(3)
			case r.URL.Path == "/v1/nodes":
				_ = json.NewEncoder(w).Encode([]api.NodeListStub{{Status: api.NodeStatusReady}})
			default:
				c.ServeHTTP(w, r)
			}
		}))
	}()
	<-signals
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	e.Kill()
	_ = e.Close(ctx)
	cancel()
	os.Exit(0)
}
