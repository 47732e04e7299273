package check

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// The statuses of the gRPC health checking protocol,
// https://github.com/grpc/grpc/blob/master/doc/health-checking.md.
var servingStatuses = map[uint64]string{0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}

const serving = 1

// grpc asks the standard health service. A call is one HTTP/2 request, whose
// message is small enough to be written here by hand.
func (c *Check) grpc(ctx context.Context) (Result, error) {
	transport := c.transport()
	transport.Protocols = new(http.Protocols)
	scheme := "http"
	if c.GRPCUseTLS {
		scheme = "https"
		transport.Protocols.SetHTTP2(true)
	} else {
		transport.Protocols.SetUnencryptedHTTP2(true)
	}
	defer transport.CloseIdleConnections()
	url := fmt.Sprintf("%s://%s/grpc.health.v1.Health/Check", scheme, c.hostPort())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(frame(healthRequest(c.GRPCService))))
	if err != nil {
		return Result{}, err
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return Result{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOutput))
	if err != nil {
		return Result{}, err
	}
	return healthAnswer(resp, body)
}

// healthRequest is the message HealthCheckRequest: field 1 is the service.
func healthRequest(service string) []byte {
	if service == "" {
		return nil
	}
	m := binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(service)))
	return append(m, service...)
}

// frame puts a message, not compressed, into gRPC's framing.
func frame(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

func healthAnswer(resp *http.Response, body []byte) (Result, error) {
	if resp.StatusCode != http.StatusOK {
		return Result{}, fmt.Errorf("the server answers %s, which is not gRPC", resp.Status)
	}
	code, message := resp.Trailer.Get("Grpc-Status"), resp.Trailer.Get("Grpc-Message")
	if code == "" { // an answer without a message has its trailers in the header
		code, message = resp.Header.Get("Grpc-Status"), resp.Header.Get("Grpc-Message")
	}
	if code != "0" {
		return Result{}, fmt.Errorf("the health service answers with gRPC status %s: %s", strconv.Quote(code), message)
	}
	status, err := servingStatus(body)
	if err != nil {
		return Result{}, err
	}
	r := Result{Status: Failure, Output: "nomad: grpc " + servingStatuses[status]}
	if status == serving {
		r.Status = Success
	}
	return r, nil
}

// servingStatus reads the message HealthCheckResponse: field 1 is the status,
// and left out when it is 0.
func servingStatus(body []byte) (uint64, error) {
	const header = 5
	if len(body) < header || body[0] != 0 || int(binary.BigEndian.Uint32(body[1:])) != len(body)-header {
		return 0, errors.New("the answer of the health service is not a gRPC message")
	}
	message := body[header:]
	if len(message) == 0 {
		return 0, nil
	}
	status, n := binary.Uvarint(message[1:])
	if message[0] != 1<<3 || n <= 0 {
		return 0, errors.New("cannot decode the answer of the health service")
	}
	return status, nil
}
