package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// answerPatience bounds every single answer.
const answerPatience = 30 * time.Second

// client calls the API over as many connections as there are workers.
type client struct {
	http    *http.Client
	base    string
	account account
}

func newClient(base string, as account, workers int) *client {
	return &client{base: base, account: as, http: &http.Client{
		Timeout:   answerPatience,
		Transport: &http.Transport{MaxConnsPerHost: workers, MaxIdleConnsPerHost: workers, DisableCompression: true},
	}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// call returns the answer, which must tell of success, that of each item too.
func (c *client) call(ctx context.Context, method, path string, body []byte) (answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+"/v3"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth(c.account.username, c.account.Key)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if answer, err = io.ReadAll(response.Body); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK || bytes.Contains(answer, []byte(`"code":1`)) { // all codes of errors begin so
		return nil, fmt.Errorf("%s %s: %d %.300s", method, path, response.StatusCode, answer)
	}
	return answer, nil
}

// page is what is read of an answer with links.
type page struct {
	URLs []struct {
		Hash        string `json:"hash"`
		TotalClicks int64  `json:"total_clicks"`
	} `json:"urls"`
}

func (c *client) page(ctx context.Context, method, path string, body []byte) (page, error) {
	answer, err := c.call(ctx, method, path, body)
	if err != nil {
		return page{}, err
	}
	var p page
	return p, json.Unmarshal(answer, &p)
}
