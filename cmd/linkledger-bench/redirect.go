package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// visitorCount is how many visitors ask at a time, each over a connection of its own.
	visitorCount = 64
	// countPatience bounds the wait until all clicks are counted: what went to the spool comes later.
	countPatience = time.Minute
	// pageSize is the largest page of the API.
	pageSize = 1000
)

// redirects measures redirects of one link and over many. Every answer must be a redirect, and the clicks that the API
// tells afterwards must be as many.
func (b *bench) redirects(ctx context.Context, s *service) ([]result, error) {
	owner := newClient(s.base, s.client, 1)
	defer owner.close()
	var hashes []string
	for len(hashes) < b.redirected {
		created, err := owner.page(ctx, http.MethodPost, "/urls", batchBody(min(batchSize, b.redirected-len(hashes))))
		if err != nil {
			return nil, err
		}
		for _, link := range created.URLs {
			hashes = append(hashes, link.Hash)
		}
	}
	var results []result
	var before int64
	for _, over := range []struct {
		name   string
		hashes []string
	}{{"redirects, one link", hashes[:1]}, {fmt.Sprintf("redirects, %d links", len(hashes)), hashes}} {
		r, answered, err := b.redirect(ctx, s, over.name, over.hashes)
		if err != nil {
			return nil, err
		}
		counted, err := owner.awaitClicks(ctx, before+answered)
		if err != nil {
			return nil, failed(over.name, err)
		}
		r.Clicks = &clicks{Answered: answered, Recorded: counted - before}
		before, results = counted, append(results, r)
	}
	return results, nil
}

func (b *bench) redirect(ctx context.Context, s *service, name string, hashes []string) (r result, answered int64, err error) {
	ours, err := dialVisitors(ctx, s.base, hashes, visitorCount)
	if err != nil {
		return result{}, 0, err
	}
	defer func() { err = errors.Join(err, ours.close()) }()
	bare, err := dialVisitors(ctx, b.control.web, hashes, visitorCount)
	if err != nil {
		return result{}, 0, err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	if err := ours.visitAll(ctx); err != nil {
		return result{}, 0, failed(name, err)
	}
	r, err = b.compare(ctx, comparison{
		name: name, unit: "redirects", control: "bare 302", workers: visitorCount, each: 1, ours: ours.visit, bare: bare.visit,
		server: s.child, settle: s.settle,
	})
	return r, ours.answered.Load(), err
}

// awaitClicks waits until the account's links have so many clicks. Any other number in the end is an error.
func (c *client) awaitClicks(ctx context.Context, want int64) (counted int64, err error) {
	late := time.NewTimer(countPatience)
	defer late.Stop()
	again := time.NewTicker(poll)
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

// clicks adds up those of all links of the account.
func (c *client) clicks(ctx context.Context) (total int64, err error) {
	for offset := 0; ; offset += pageSize {
		list, err := c.page(ctx, http.MethodGet, fmt.Sprintf("/urls?limit=%d&offset=%d", pageSize, offset), nil)
		if err != nil {
			return 0, err
		}
		for _, link := range list.URLs {
			total += link.TotalClicks
		}
		if len(list.URLs) < pageSize {
			return total, nil
		}
	}
}
