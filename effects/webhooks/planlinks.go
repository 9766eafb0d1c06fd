package webhooks

// This file plans the events of links and tags.

import (
	"context"
	"strings"

	"linkledger/commands/audit"
	"linkledger/commands/webhooks"
	"linkledger/effects/webhooks/linkstate"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/v3/record"
	"linkledger/queries"
)

// kindOf returns the kind of an event of a link, or the empty string if webhooks do not get it:
// claims of hashes change no link.
func kindOf(e events.Event) string {
	switch e.(type) {
	case events.URLCreated:
		return webhooks.LinkCreated
	case events.URLRetargeted, events.URLSettingsChanged, events.URLTagged, events.URLUntagged:
		return webhooks.LinkChanged
	case events.URLRenamed:
		return webhooks.LinkRenamed
	case events.URLDeleted:
		return webhooks.LinkDeleted
	case events.URLRestored:
		return webhooks.LinkRestored
	case events.URLStatsReset:
		return webhooks.StatsReset
	case events.URLStatsRestored:
		return webhooks.StatsRestored
	}
	return ""
}

// link plans an event in the stream of a link.
func (p *planner) link(ctx context.Context, r eventstore.Recorded) error {
	id, ok := events.LinkIn(r.Stream)
	if account := linkstate.AccountOf(r); !ok || account != "" && !p.hasHooks(account) {
		return nil
	}
	kind := kindOf(p.decoded(r))
	if kind == "" {
		return nil
	}
	before, after, err := p.links.At(ctx, id, r)
	if err != nil {
		return err
	}
	delete(p.clicked, id)
	return p.aboutLink(r, kind, before, after)
}

// aboutLink makes the messages about an event of a link.
func (p *planner) aboutLink(
	r eventstore.Recorded, kind string, before, after linkstate.State,
) error {
	for _, h := range p.hooks[after.Link.Account] {
		if !h.wants(kind, before, after) {
			continue
		}
		data := dataOf(r, after.Link.Account)
		data.URL = urlOf(h.Base, after)
		if before.Link.ID != "" {
			data.Former = urlOf(h.Base, before)
		}
		if err := p.message(r, h, kind, after.Link.ID, 0, contract.Event{
			Type: kind, Timestamp: r.Time.UTC(), Data: data,
		}); err != nil {
			return err
		}
	}
	return nil
}

// dataOf returns what the payloads about an event have in common.
func dataOf(r eventstore.Recorded, account string) contract.EventData {
	m := linkstate.MetadataOf(r)
	actor := &contract.Actor{
		Kind: string(audit.ByAccount), Account: m.Account, Key: m.Key, User: m.User, Via: m.Way(),
	}
	if m.Account == "" {
		actor.Kind = string(audit.ByOperator)
	}
	return contract.EventData{
		Position: r.Position.Commit, Account: account, Actor: actor, Request: m.RequestID,
		Batch: m.BatchID,
	}
}

// urlOf returns the record of a link.
func urlOf(base string, s linkstate.State) *contract.URL {
	labels := s.Labels
	if labels == nil {
		labels = []string{}
	}
	r := record.Plain(base, queries.Link{
		Hash: s.Link.Hash, LongURL: s.Link.LongURL, Note: s.Link.Note, Settings: s.Link.Settings,
		Tags: labels, CreatedAt: s.Link.CreatedAt, ModifiedAt: s.Link.ModifiedAt,
	})
	return &r
}

// allowance plans an event after which a link has used up max_clicks.
func (p *planner) allowance(ctx context.Context, r eventstore.Recorded) error {
	e, ok := p.decoded(r).(events.AllowanceUsed)
	id := strings.TrimPrefix(r.Stream, events.StreamAllowance)
	if !ok {
		return nil
	}
	link, err := p.clickedLink(ctx, id, r)
	if err != nil {
		return err
	}
	state, most := link.state, link.state.Link.MaxClicks
	if most == 0 || e.Used < most || e.Used-e.Clicks >= most {
		return nil
	}
	p.sendClicks()
	for _, h := range p.hooks[state.Link.Account] {
		if !h.wants(webhooks.LimitReached, state, state) {
			continue
		}
		if err := p.message(r, h, webhooks.LimitReached, id, 0, contract.Event{
			Type: webhooks.LimitReached, Timestamp: r.Time.UTC(), Data: contract.EventData{
				Position: r.Position.Commit, Account: state.Link.Account,
				URL: urlOf(h.Base, state),
			},
		}); err != nil {
			return err
		}
	}
	return nil
}

// tag plans an event of a tag. A renamed or deleted tag changes the labels of links, so the links
// of clicks are looked up again.
func (p *planner) tag(ctx context.Context, r eventstore.Recorded) error {
	account := strings.TrimPrefix(r.Stream, events.StreamTags)
	if !p.hasHooks(account) {
		return nil
	}
	p.forgetClicked(account)
	var kind, id string
	switch e := p.decoded(r).(type) {
	case events.TagCreated:
		kind, id = webhooks.TagCreated, e.TagID
	case events.TagRenamed:
		kind, id = webhooks.TagRenamed, e.TagID
	case events.TagDeleted:
		kind, id = webhooks.TagDeleted, e.TagID
	default:
		return nil
	}
	was, is, lives, err := p.links.TagAt(ctx, account, id, r)
	if err != nil {
		return err
	}
	change := contract.TagChange{Label: is.Label}
	switch {
	case !lives:
		change.Label = was.Label
	case was.Label != is.Label:
		change.Former = was.Label
	}
	for _, h := range p.hooks[account] {
		if !h.wantsTags(kind) {
			continue
		}
		data := dataOf(r, account)
		data.Tag = &change
		if err := p.message(r, h, kind, id, 0, contract.Event{
			Type: kind, Timestamp: r.Time.UTC(), Data: data,
		}); err != nil {
			return err
		}
	}
	return nil
}
