package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/rogpeppe/go-internal/testscript"

	drivercatalog "taskrun/drivers/catalog"
	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/service"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
	"taskrun/jobspec/validate"
)

// clusterToken is the token of a cluster in the scripts.
const clusterToken = "5ec2e7ab-token-of-the-cluster"

// startCluster is the script command
//
//	cluster   start a cluster of one node, which accepts one job, behind TLS: its address is
//	          $CLUSTER, its CA ca.pem, and its token $CLUSTER_TOKEN
//
// It is an engine in a separate process, $CLUSTER_PID.
func startCluster(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: cluster")
	}
	path, err := exec.LookPath("clusterd")
	ts.Check(err)
	cmd := exec.Command(path, ts.MkAbs("ca.pem"), ts.MkAbs("cluster.d"))
	cmd.Dir, cmd.Env, cmd.Stderr = ts.MkAbs("."), environment(ts), os.Stderr
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	address := make([]byte, 256)
	n, err := out.Read(address)
	ts.Check(err)
	ts.Setenv("CLUSTER", strings.TrimSpace(string(address[:n])))
	ts.Setenv("CLUSTER_TOKEN", clusterToken)
	ts.Setenv("CLUSTER_PID", fmt.Sprint(cmd.Process.Pid))
	ts.Defer(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(scriptTime, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		_ = cmd.Wait()
	})
}

// clusterRules are the checks of the cluster.
func clusterRules(order httpapi.Order, job *api.Job) jobspec.Diagnostics {
	if order == httpapi.OrderDispatch {
		return nil
	}
	job.Canonicalize()
	jobspec.Register(job)
	return validate.Job(job, nil)
}

// clusterd is the process of a cluster, started with CA and DIR. SIGUSR1 breaks
// the connections of clients; SIGUSR2 also revokes the token.
func clusterd() {
	node := taskenv.Fingerprint()
	services := &service.Catalog{}
	e := engine.New(engine.Config{
		DataDir: os.Args[2], Drivers: drivercatalog.New(), Node: &node, HostEnv: os.Environ(), Services: services,
		Hooks: hookcatalog.New(hookcatalog.Options{DataDir: os.Args[2], Services: services}),
	})
	c := &fakeCluster{engine: e, api: httpapi.New(e, httpapi.Config{Node: &node, Version: "1.2.3", Preflight: clusterRules})}
	server := httptest.NewUnstartedServer(c)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that should fail
	server.StartTLS()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(os.Args[1], ca, 0o600); err != nil {
		panic(err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTERM)
	fmt.Println(server.URL)
	for sig := range signals {
		if sig == syscall.SIGTERM {
			break
		}
		if sig == syscall.SIGUSR2 {
			c.revoked.Store(true)
		}
		server.CloseClientConnections()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	e.Kill()
	_ = e.Close(ctx)
	_ = c.api.Shutdown(ctx)
	cancel()
	os.Exit(0)
}

// fakeCluster is an engine that accepts its first job over HTTP, and requires a
// token.
type fakeCluster struct {
	engine  *engine.Engine
	api     *httpapi.Server
	once    sync.Once
	revoked atomic.Bool // the token was revoked
	open    bool        // it requires no token
}

func (c *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !c.open && (c.revoked.Load() || r.Header.Get("X-Nomad-Token") != clusterToken) {
		http.Error(w, "ACL token not found", http.StatusForbidden)
		return
	}
	if r.Method == http.MethodPut && r.URL.Path == "/v1/jobs" {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		first := false
		c.once.Do(func() { first = true })
		if first {
			c.submit(w, text)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
	}
	c.api.ServeHTTP(w, r)
}

func (c *fakeCluster) submit(w http.ResponseWriter, text []byte) {
	var order api.JobRegisterRequest
	if err := json.Unmarshal(text, &order); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	order.Job.Canonicalize()
	if err := c.engine.Submit(order.Job); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	asked := httptest.NewRecorder()
	c.api.ServeHTTP(asked, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/v1/job/"+*order.Job.ID+"/evaluations", nil))
	var evaluations []*api.Evaluation
	_ = json.Unmarshal(asked.Body.Bytes(), &evaluations) // a job that launches others has none
	answer := api.JobRegisterResponse{Warnings: "1 warning:\n\n* it is a cluster of one"}
	if len(evaluations) > 0 {
		answer.EvalID = evaluations[0].ID
	}
	w.Header().Set("X-Nomad-Index", "1")
	_ = json.NewEncoder(w).Encode(answer)
}
