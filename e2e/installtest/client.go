// This file has clients that check the notes that they read.

package installtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"linkledger/e2e/e2etest"
)

// Client creates, edits and reads links, and records the notes that it has read.
type Client struct {
	*Installation
	Name string
	Seen []int // by link: the note that was read last
}

// Work makes calls until ctx ends or a response is wrong.
func (c *Client) Work(ctx context.Context) error {
	for ctx.Err() == nil {
		n := len(c.Seen)
		if n == 0 || rand.IntN(3) == 0 {
			body := fmt.Sprintf(
				`{"urls":[{"long_url":"https://example.com/","custom_hash":"%s-%d","note":"0"}]}`, c.Name, n,
			)
			if err := c.write(ctx, "POST", "/urls", body, n, 0); err != nil {
				return err
			}
			continue
		}
		n = rand.IntN(n)
		if err := c.Read(ctx, n, c.Seen[n]); err != nil {
			return fmt.Errorf("a note that was read before is gone: %w", err)
		}
		next := c.Seen[n] + 1
		if err := c.write(
			ctx, "PATCH", fmt.Sprintf("/urls/%s-%d", c.Name, n), fmt.Sprintf(`{"urls":[{"note":"%d"}]}`, next), n, next,
		); err != nil {
			return err
		}
	}
	return nil
}

// write makes a call and waits until the link has the note.
func (c *Client) write(ctx context.Context, method, path, body string, n, note int) error {
	if _, err := e2etest.Call(context.WithoutCancel(ctx), c.Base, c.Key, method, path, body); err != nil {
		return err
	}
	deadline := time.Now().Add(e2etest.StartTimeout)
	for {
		err := c.Read(ctx, n, note)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("a write is not visible: %w", err)
		}
	}
	if n == len(c.Seen) {
		c.Seen = append(c.Seen, note)
	}
	c.Seen[n] = note
	return nil
}

// Read checks the note of a link.
func (c *Client) Read(ctx context.Context, n, note int) error {
	answer, err := e2etest.Call(context.WithoutCancel(ctx), c.Base, c.Key, "GET", fmt.Sprintf("/urls/%s-%d", c.Name, n), "")
	if err != nil {
		return err
	}
	if got := answer["urls"].([]any)[0].(map[string]any)["note"]; got != strconv.Itoa(note) {
		return fmt.Errorf("note %v of %s-%d, want %d", got, c.Name, n, note)
	}
	return nil
}
