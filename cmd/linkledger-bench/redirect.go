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
// or if the API afterwards reports more or fewer clicks than there were redirects.
func (b *bench) redirects(ctx context.Context, s *installation.Service) ([]report.Result, error) {
	owner := caller.New(s.Base, 1, s.Client)
	defer owner.Close()
	hashes, err := b.createLinks(ctx, owner)
	if err != nil {
		return nil, err
	}
	bare := hashes // the control redirects every path
	if b.former != nil {
		former := caller.New(b.former.Base, 1, b.former.Client)
		defer former.Close()
		if bare, err = b.createLinks(ctx, former); err != nil {
			return nil, err
		}
	}
	var results []report.Result
	var before int64
	for _, over := range []struct {
		name         string
		hashes, bare []string
	}{
		{"redirects, one link", hashes[:1], bare[:1]},
		{fmt.Sprintf("redirects, %d links", len(hashes)), hashes, bare},
	} {
		r, answered, err := b.redirect(ctx, s, over.name, over.hashes, over.bare)
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

// createLinks makes the links that are visited, and returns their hashes.
func (b *bench) createLinks(
	ctx context.Context, owner *caller.Client,
) (hashes []string, err error) {
	for len(hashes) < b.redirected {
		created, err := owner.URLs(
			ctx, http.MethodPost, "/urls", batchBody(min(batchSize, b.redirected-len(hashes))),
		)
		if err != nil {
			return nil, err
		}
		for _, link := range created {
			hashes = append(hashes, link.Hash)
		}
	}
	return hashes, nil
}

func (b *bench) redirect(
	ctx context.Context, s *installation.Service, name string, hashes, bareHashes []string,
) (r report.Result, answered int64, err error) {
	ours, err := caller.DialVisitors(ctx, s.Base, hashes, visitorCount)
	if err != nil {
		return report.Result{}, 0, err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	base, against, settle := b.control.Web, "bare 302", s.Settle
	if b.former != nil {
		base, against, settle = b.former.Base, "former", b.settleBoth(s)
	}
	bare, err := caller.DialVisitors(ctx, base, bareHashes, visitorCount)
	if err != nil {
		return report.Result{}, 0, err
	}
	defer func() { err = errors.Join(err, bare.Close()) }()
	if err := ours.VisitAll(ctx); err != nil {
		return report.Result{}, 0, load.Failed(name, err)
	}
	if b.former != nil {
		if err := bare.VisitAll(ctx); err != nil {
			return report.Result{}, 0, load.Failed(name+", former", err)
		}
	}
	r, err = b.Compare(ctx, load.Comparison{
		Name: name, Unit: "redirects", Control: against, Workers: visitorCount, Each: 1,
		Ours: ours.Visit, Bare: bare.Visit,
		Server: s.Process, Settle: settle,
	})
	return r, ours.Answered.Load(), err
}
