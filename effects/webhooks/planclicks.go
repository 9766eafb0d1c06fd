package webhooks

// This file plans clicks. Clicks of one batch are sent together.

import (
	"context"
	"maps"
	"net/url"

	"linkledger/commands/webhooks"
	"linkledger/effects/webhooks/linkstate"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/httpapi/contract"
)

const (
	// maxClicks is how many clicks one payload has at most.
	maxClicks = 100
	// maxClicked bounds the links of clicks in memory. A full cache is emptied, which costs a
	// look-up for each link.
	maxClicked = 100_000
	// clicksSubject is the subject of gathered clicks, so they are sent in their order.
	clicksSubject = "clicks"
)

// clickedLink is what a click needs to know of its link.
type clickedLink struct {
	state linkstate.State
	hooks []*hook // that get the clicks
}

// gathered are clicks of one event for one webhook.
type gathered struct {
	hook    *hook
	subject string
	event   eventstore.Recorded // of the first click
	clicks  []contract.ClickSent
}

// click plans the clicks of an event.
func (p *planner) click(ctx context.Context, r eventstore.Recorded) error {
	if !p.wantsClicks() {
		return nil
	}
	recorded, ok := p.decoded(r).(events.ClicksRecorded)
	if !ok {
		return nil
	}
	unknown := make(map[string]bool)
	for _, c := range recorded.Clicks {
		if _, known := p.clicked[c.URLID]; !known {
			unknown[c.URLID] = true
		}
	}
	if err := p.links.PreloadLinks(ctx, unknown); err != nil {
		return err
	}
	for _, c := range recorded.Clicks {
		link, err := p.clickedLink(ctx, c.URLID, r)
		if err != nil {
			return err
		}
		for _, h := range link.hooks {
			if c.Bot && h.Format == events.FormatTinyCC {
				continue // the format cannot say that a click is a robot's
			}
			p.gather(r, h, c.URLID, contract.ClickSent{
				Hash: link.state.Link.Hash, LongURL: link.state.Link.LongURL, Time: c.At.UTC(),
				Visitor: c.Visitor, Robot: c.Bot, Referrer: c.Referrer, Country: c.Country,
				Browser: c.Browser, System: c.OS, Device: c.Device,
			})
		}
	}
	return nil
}

// wantsClicks reports whether any webhook gets clicks.
func (p *planner) wantsClicks() bool {
	for _, hooks := range p.hooks {
		for _, h := range hooks {
			if h.Suspended == "" && h.Gets(webhooks.Click) {
				return true
			}
		}
	}
	return false
}

// clickedLink returns the link of a click, as it was at the event of the click.
func (p *planner) clickedLink(
	ctx context.Context, id string, r eventstore.Recorded,
) (clickedLink, error) {
	if known, ok := p.clicked[id]; ok {
		return known, nil
	}
	state, err := p.links.AsOf(ctx, id, r)
	if err != nil {
		return clickedLink{}, err
	}
	found := clickedLink{state: state}
	for _, h := range p.hooks[state.Link.Account] {
		if h.wants(webhooks.Click, state, state) {
			found.hooks = append(found.hooks, h)
		}
	}
	if len(p.clicked) >= maxClicked {
		clear(p.clicked)
	}
	p.clicked[id] = found
	return found, nil
}

// forgetClicked lets the links of an account be looked up again at their next click.
func (p *planner) forgetClicked(account string) {
	maps.DeleteFunc(p.clicked, func(_ string, link clickedLink) bool {
		return link.state.Link.Account == account
	})
}

// gather adds a click on a link to the clicks for a webhook. In the format of tiny.cc each click is
// sent alone, in the order of the clicks on the link.
func (p *planner) gather(r eventstore.Recorded, h *hook, link string, c contract.ClickSent) {
	if h.Format == events.FormatTinyCC {
		p.clicks = append(p.clicks, gathered{
			hook: h, subject: link, event: r, clicks: []contract.ClickSent{c},
		})
		return
	}
	for i := len(p.clicks) - 1; i >= 0; i-- {
		g := &p.clicks[i]
		if g.hook != h {
			continue
		}
		if len(g.clicks) >= maxClicks {
			break
		}
		g.clicks = append(g.clicks, c)
		return
	}
	p.clicks = append(p.clicks, gathered{
		hook: h, subject: clicksSubject, event: r, clicks: []contract.ClickSent{c},
	})
}

// sendClicks makes messages of the gathered clicks.
func (p *planner) sendClicks() {
	type maker struct {
		hook  *hook
		event eventstore.Position
	}
	parts := make(map[maker]int)
	for _, g := range p.clicks {
		by := maker{g.hook, g.event.Position}
		var payload any = contract.Event{
			Type: webhooks.Click, Timestamp: g.event.Time.UTC(), Data: contract.EventData{
				Position: g.event.Position.Commit, Account: g.hook.Account, Clicks: g.clicks,
			},
		}
		if g.hook.Format == events.FormatTinyCC {
			payload = tinyCC(g.hook, g.clicks[0])
		}
		// The payload is made of texts and numbers, which JSON can always have.
		_ = p.message(g.event, g.hook, webhooks.Click, g.subject, parts[by], payload)
		parts[by]++
	}
	p.clicks = nil
}

func tinyCC(h *hook, c contract.ClickSent) contract.TinyCCClick {
	domain := h.Base
	if base, err := url.Parse(h.Base); err == nil {
		domain = base.Host
	}
	return contract.TinyCCClick{
		Hash: c.Hash, Domain: domain, RedirectURL: c.LongURL, Referrer: c.Referrer, Time: c.Time,
	}
}
