package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// healthCommand asks a service on this machine how it is, for images that have no other program to ask with.
type healthCommand struct {
	AdminListen string `help:"Internal address of the service." default:"127.0.0.1:8081" validate:"address"`
	Live        bool   `help:"Ask whether the process runs, not whether it is ready."`
}

// Run implements the command. It fails with what the service says of itself.
func (c *healthCommand) Run(ctx context.Context, p *process) (err error) {
	if err := validate(c); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(c.AdminListen)
	if err != nil {
		return usageError{err}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	question := "ready"
	if c.Live {
		question = "live"
	}
	ctx, cancel := context.WithTimeout(ctx, 2*healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/health/"+question, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	state, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("not %s: %s", question, strings.TrimSpace(string(state)))
	}
	_, err = p.stdout.Write(state)
	return err
}
