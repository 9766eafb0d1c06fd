package admin

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"linkledger/internal/usage"
)

// Health asks the service behind an internal address whether it is ready or, if live is set,
// whether it is live. If it is, Health returns the answer. If not, the error contains the answer.
func Health(ctx context.Context, address string, live bool) ([]byte, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	probe := "ready"
	if live {
		probe = "live"
	}
	ctx, cancel := context.WithTimeout(ctx, 2*healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(
		ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/health/"+probe, nil,
	)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	state, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("not %s: %s", probe, strings.TrimSpace(string(state)))
	}
	return state, nil
}
