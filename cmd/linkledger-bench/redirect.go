package main

import (
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
	// visitorCount is the number of concurrent visitors. Each has a connection of its own.
	visitorCount = 64
)

// redirects measures redirects of one link and of many links. It fails if an answer is no redirect,
// or if the API does not report as many clicks afterwards.
func (b *bench) redirects(ctx context.Context, s *installation.Service) ([]report.Result, error) {
	owner := caller.New(s.Base, 1, s.Client)
	defer owner.Close()
	var hashes []string
	for len(hashes) < b.redirected {
		created, err := owner.Page(
			ctx, http.MethodPost, "/urls", batchBody(min(batchSize, b.redirected-len(hashes))),
		)
		if err != nil {
			return nil, err
		}
		for _, link := range created.URLs {
			hashes = append(hashes, link.Hash)
		}
	}
	var results []report.Result
	var before int64
	for _, over := range []struct {
		name   string
		hashes []string
	}{
		{"redirects, one link", hashes[:1]},
		{fmt.Sprintf("redirects, %d links", len(hashes)), hashes},
	} {
		r, answered, err := b.redirect(ctx, s, over.name, over.hashes)
		if err != nil {
			return nil, err
		}
		counted, err := owner.AwaitClicks(ctx, before+answered)
		if err != nil {
			return nil, load.Failed(over.name, err)
		}
		r.Clicks = &report.Clicks{Answered: answered, Recorded: counted - before}
		before, results = counted, append(results, r)
	}
	return results, nil
}

func (b *bench) redirect(
	ctx context.Context, s *installation.Service, name string, hashes []string,
) (r report.Result, answered int64, err error) {
	ours, err := caller.DialVisitors(ctx, s.Base, hashes, visitorCount)
	if err != nil {
		return report.Result{}, 0, err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	bare, err := caller.DialVisitors(ctx, b.control.web, hashes, visitorCount)
	if err != nil {
		return report.Result{}, 0, err
	}
	defer func() { err = errors.Join(err, bare.Close()) }()
	if err := ours.VisitAll(ctx); err != nil {
		return report.Result{}, 0, load.Failed(name, err)
	}
	r, err = b.Compare(ctx, load.Comparison{
		Name: name, Unit: "redirects", Control: "bare 302", Workers: visitorCount, Each: 1,
		Ours: ours.Visit, Bare: bare.Visit,
		Server: s.Process, Settle: s.Settle,
	})
	return r, ours.Answered.Load(), err
}
