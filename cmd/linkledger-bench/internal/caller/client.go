// Package caller calls the API as clients do and visits links as browsers do.
package caller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"linkledger/httpapi/contract"
)

// answerTimeout bounds every single answer.
const answerTimeout = 30 * time.Second

// clickPoll is the pause between two reads of the clicks.
const clickPoll = 200 * time.Millisecond

// Client calls the API over as many connections as there are workers.
type Client struct {
	http     *http.Client
	base     string
	accounts []Account
}

// New returns a client with the keys of accounts. Each call uses a random account.
func New(base string, workers int, as ...Account) *Client {
	return &Client{base: base, accounts: as, http: &http.Client{
		Timeout: answerTimeout,
		Transport: &http.Transport{
			MaxConnsPerHost: workers, MaxIdleConnsPerHost: workers, DisableCompression: true,
		},
	}}
}

// Close closes the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call returns the answer. It returns an error unless the call and each of its items succeeded.
func (c *Client) Call(
	ctx context.Context, method, path string, body []byte,
) (answer []byte, err error) {
	request, err := http.NewRequestWithContext(
		ctx, method, c.base+"/v3"+path, bytes.NewReader(body),
	)
	if err != nil {
		return nil, err
	}
	//nolint:gosec // any even choice will do
	account := c.accounts[rand.IntN(len(c.accounts))]
	request.SetBasicAuth(account.Username, account.Key)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if answer, err = io.ReadAll(response.Body); err != nil {
		return nil, err
	}
	// the code of every error begins with 1
	if response.StatusCode != http.StatusOK || bytes.Contains(answer, []byte(`"code":1`)) {
		return nil, fmt.Errorf("%s %s: %d %.300s", method, path, response.StatusCode, answer)
	}
	return answer, nil
}

// URLs makes a call and returns the links of its answer. It returns an error of Call, or of
// decoding the answer.
func (c *Client) URLs(
	ctx context.Context, method, path string, body []byte,
) ([]contract.URL, error) {
	encoded, err := c.Call(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	var answer contract.URLsAnswer[contract.URL]
	return answer.URLs, json.Unmarshal(encoded, &answer)
}

// Account is an account as linkledger account create prints it.
type Account struct {
	ID  string `json:"id"`
	Key string `json:"api_key"`

	Username string `json:"-"`
}

// AwaitClicks waits until the links of the account have want clicks in total. It returns an error
// if they have more, or have fewer after countTimeout.
func (c *Client) AwaitClicks(ctx context.Context, want int64) (counted int64, err error) {
	late := time.NewTimer(countTimeout)
	defer late.Stop()
	again := time.NewTicker(clickPoll)
	defer again.Stop()
	for {
		if counted, err = c.clicks(ctx); err != nil || counted == want {
			return counted, err
		}
		lost := fmt.Errorf("%d clicks are recorded, but %d redirects were answered", counted, want)
		if counted > want {
			return 0, lost
		}
		select {
		case <-again.C:
		case <-late.C:
			return 0, lost
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

const (
	// pageSize is the largest page of the API.
	pageSize = 1000
)

// clicks returns the total clicks of all links of the account.
func (c *Client) clicks(ctx context.Context) (total int64, err error) {
	for offset := 0; ; offset += pageSize {
		links, err := c.URLs(
			ctx, http.MethodGet, fmt.Sprintf("/urls?limit=%d&offset=%d", pageSize, offset), nil,
		)
		if err != nil {
			return 0, err
		}
		for _, link := range links {
			total += link.TotalClicks
		}
		if len(links) < pageSize {
			return total, nil
		}
	}
}

const (
	// countTimeout bounds the wait until all clicks are counted. Clicks that waited on disk, in the
	// spool of the program, are counted later than other clicks.
	countTimeout = time.Minute
)
