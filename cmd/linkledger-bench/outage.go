package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/cmd/linkledger-bench/internal/caller"
	"linkledger/cmd/linkledger-bench/internal/child"
	"linkledger/cmd/linkledger-bench/internal/installation"
	"linkledger/cmd/linkledger-bench/internal/load"
	"linkledger/cmd/linkledger-bench/internal/report"
	"linkledger/events"
	"linkledger/events/codec"
	"linkledger/events/eventstore"
)

const (
	// outageVisitors is the number of concurrent visitors before, during and after an outage.
	outageVisitors = 8
	outageLinks    = 100
	// networkDelay is the delay to the event store in each direction.
	networkDelay = 5 * time.Millisecond
	// outageSlice is the time between two checks whether the spool, where clicks wait on disk, has
	// drained.
	outageSlice = 100 * time.Millisecond
	// drainTimeout bounds the time in which the spool drains after one outage.
	drainTimeout = 10 * time.Minute
	// bareAppend is the size of one append of the control in bytes.
	bareAppend = 256 << 10
)

// node is a service with the redirect role only. Its calls to the event store go through an
// installation.Network, which delays them.
type node struct {
	*child.Process

	base, admin string // URLs
}

var servingLine = regexp.MustCompile(`msg=serving listen=(\S+) admin=(\S+)`)

func (b *bench) startNode(ctx context.Context, store, database string) (*node, error) {
	c, err := child.Start(ctx, "msg=serving", b.program, "serve", "--roles", "redirect",
		"--eventstore", store, "--database", database, "--spool", b.path("spool"), "--listen",
		"127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	at := servingLine.FindStringSubmatch(c.Greeting)
	return &node{Process: c, base: "http://" + at[1], admin: "http://" + at[2]}, nil
}

// outages measures how fast the clicks of an outage reach the event store afterwards, and how fast
// redirects are meanwhile. The control for the clicks is bare appends of such clicks through the
// same network. The control for the redirects is the redirects before the outage.
func (b *bench) outages(
	ctx context.Context, s *installation.Service,
) (_ []report.Result, err error) {
	owner := caller.New(s.Base, 1, s.Owner)
	defer owner.Close()
	var hashes []string
	for len(hashes) < outageLinks {
		created, err := owner.URLs(ctx, http.MethodPost, "/urls", batchBody(batchSize))
		if err != nil {
			return nil, err
		}
		for _, link := range created {
			hashes = append(hashes, link.Hash)
		}
	}
	away, err := installation.StartNetwork(s.EventStore, networkDelay)
	if err != nil {
		return nil, err
	}
	defer away.Stop()
	n, err := b.startNode(ctx, away.URL, s.Database)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.Stop()) }()
	visiting, err := caller.DialVisitors(ctx, n.base, hashes, outageVisitors)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, visiting.Close()) }()
	o := outage{bench: b, node: n, network: away, visitors: visiting}
	drained := report.Result{
		Name: "clicks drained after an outage", Unit: "clicks",
		Control: report.Control{Name: "bare appends"},
	}
	meanwhile := report.Result{
		Name: "redirects while they drain", Unit: "redirects",
		Control: report.Control{Name: "redirects before"},
	}
	if err := visiting.VisitAll(ctx); err != nil {
		return nil, err
	}
	if err := n.ForgetPeak(); err != nil {
		return nil, err
	}
	for range b.Runs {
		if err := o.run(ctx, &drained, &meanwhile); err != nil {
			return nil, err
		}
	}
	if drained.PeakMB, err = n.Peak(); err != nil {
		return nil, err
	}
	meanwhile.PeakMB = drained.PeakMB
	answered := visiting.Answered.Load()
	counted, err := owner.AwaitClicks(ctx, answered)
	meanwhile.Clicks = &report.Clicks{Answered: answered, Recorded: counted}
	return []report.Result{drained, meanwhile}, err
}

// outage is the state that the runs of outages share.
type outage struct {
	*bench

	node     *node
	network  *installation.Network
	visitors *caller.Visitors
}

// run measures one outage and adds its figures to both results.
func (o *outage) run(ctx context.Context, drained, meanwhile *report.Result) error {
	bare, err := o.appendBare(ctx)
	if err != nil {
		return err
	}
	var before, during, after load.Sample
	if err := before.Load(ctx, outageVisitors, o.Turn, o.visitors.Visit); err != nil {
		return err
	}
	spooled, err := o.node.metric(ctx, "linkledger_clicks_spooled_total")
	if err != nil {
		return err
	}
	o.network.Stop()
	if err := during.Load(ctx, outageVisitors, o.outage, o.visitors.Visit); err != nil {
		return err
	}
	if err := o.network.Start(); err != nil {
		return err
	}
	began := time.Now()
	for waiting := 1.0; waiting > 0; {
		if err := after.Load(ctx, outageVisitors, outageSlice, o.visitors.Visit); err != nil {
			return err
		}
		if waiting, err = o.node.metric(ctx, "linkledger_spool_records"); err != nil {
			return err
		}
		if time.Since(began) > drainTimeout {
			return fmt.Errorf("the spool has not drained within %s", drainTimeout)
		}
	}
	took := time.Since(began).Seconds()
	total, err := o.node.metric(ctx, "linkledger_clicks_spooled_total")
	drained.Add(report.Figures{Rate: (total - spooled) / took}, bare)
	meanwhile.Add(after.Figures(1), before.Figures(1))
	return err
}

// appendBare appends clicks through the network for a turn, one append of bareAppend bytes after
// the other.
func (o *outage) appendBare(ctx context.Context) (report.Figures, error) {
	store, err := eventstore.Open(eventstore.Config{URL: o.network.URL})
	if err != nil {
		return report.Figures{}, err
	}
	defer store.Close()
	var event events.ClicksRecorded
	var to load.Call
	for size := 0; size < bareAppend; {
		click := events.Click{
			URLID: "none", Visitor: strings.Repeat("v", 22), At: time.Now().UTC(),
			Browser: "Firefox", OS: "Linux", Device: "desktop",
		}
		event.Clicks = append(event.Clicks, click)
		if size == 0 {
			body, err := codec.Encode(event)
			if err != nil {
				return report.Figures{}, err
			}
			size = len(body)
		}
		size += size / len(event.Clicks)
	}
	// No read model follows these streams. Each run has streams of its own.
	to = appendEvent(store, "bench-"+uuid.NewString()+"-", event)
	var met load.Sample
	if err := met.Load(ctx, 1, o.Turn, to); err != nil {
		return report.Figures{}, err
	}
	return met.Figures(len(event.Clicks)), nil
}

// metric returns the value of a metric of the node. The metric has no labels.
func (n *node) metric(ctx context.Context, name string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.admin+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(body)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("no metric %s at %s", name, n.admin)
}
