package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"linkledger/cmd/linkledger-bench/internal/caller"
	"linkledger/cmd/linkledger-bench/internal/installation"
	"linkledger/cmd/linkledger-bench/internal/load"
	"linkledger/cmd/linkledger-bench/internal/report"
)

const (
	// creators is the number of concurrent clients that create links.
	creators = 16
	// batchSize is the largest number of links that one call can create.
	batchSize = 50
)

// creates measures calls that create one and fifty links. The links are durable and readable when
// the call is answered.
func (b *bench) creates(ctx context.Context, s *installation.Service) ([]report.Result, error) {
	ours := caller.New(s.Base, creators, s.Creators...)
	bare, against, settle := caller.New(b.control.Web, creators, s.Client), "bare echo", s.Settle
	if b.former != nil {
		bare, against = caller.New(b.former.Base, creators, b.former.Creators...), "former"
		settle = b.settleBoth(s)
	}
	defer ours.Close()
	defer bare.Close()
	var results []report.Result
	for _, size := range []int{1, batchSize} {
		r, err := b.Compare(ctx, load.Comparison{
			Name: fmt.Sprintf("creates, %d per call", size), Unit: "links", Control: against,
			Workers: creators, Each: size, Ours: creating(ours, size), Bare: creating(bare, size),
			Server: s.Process, Settle: settle,
		})
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// settleBoth returns a function that waits until neither the measured program nor the former
// program has work left.
func (b *bench) settleBoth(s *installation.Service) func(context.Context) error {
	return func(ctx context.Context) error {
		return errors.Join(s.Settle(ctx), b.former.Settle(ctx))
	}
}

func creating(c *caller.Client, size int) load.Call {
	body := batchBody(size)
	return func(ctx context.Context, _ int) error {
		_, err := c.Call(ctx, http.MethodPost, "/urls", body)
		return err
	}
}

// batchBody returns the body of a call that creates a number of links.
func batchBody(size int) []byte {
	items := bytes.Repeat([]byte(`{"long_url":"https://example.com/some/path?with=query"},`), size)
	return append(append([]byte(`{"urls":[`), items[:len(items)-1]...), "]}"...)
}
