package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
)

const (
	// creators is how many clients create links at a time.
	creators = 16
	// batchSize is how many links one call may create.
	batchSize = 50
)

// creates measures links that are durable and readable when answered, one and fifty per call.
func (b *bench) creates(ctx context.Context, s *service) ([]result, error) {
	ours, bare := newClient(s.base, s.client, creators), newClient(b.control.web, s.client, creators)
	defer ours.close()
	defer bare.close()
	var results []result
	for _, size := range []int{1, batchSize} {
		r, err := b.compare(ctx, comparison{
			name: fmt.Sprintf("creates, %d per call", size), unit: "links", control: "bare echo",
			workers: creators, each: size, ours: ours.creating(size), bare: bare.creating(size),
			server: s.child, settle: s.settle,
		})
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

func (c *client) creating(size int) call {
	body := batchBody(size)
	return func(ctx context.Context, _ int) error {
		_, err := c.call(ctx, http.MethodPost, "/urls", body)
		return err
	}
}

// batchBody creates so many links.
func batchBody(size int) []byte {
	items := bytes.Repeat([]byte(`{"long_url":"https://example.com/some/path?with=query"},`), size)
	return append(append([]byte(`{"urls":[`), items[:len(items)-1]...), "]}"...)
}
