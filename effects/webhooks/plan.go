package webhooks

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"

	"github.com/google/uuid"

	"linkledger/commands/webhooks"
	"linkledger/effects/outbox"
	"linkledger/effects/webhooks/linkstate"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// planner decides which webhooks get which payloads. It knows the webhooks in the state that
// they have at the event.
type planner struct {
	cfg   Config
	hooks map[string][]*hook // by account, in the order of their addition
	all   map[string]webhooks.List
	links *linkstate.Reader
	// clicked caches the links of clicks, by id.
	clicked map[string]clickedLink

	changes outbox.Changes
	clicks  []gathered // clicks of the batch that no message has yet
}

func newPlanner(
	cfg Config, known []outbox.Receiver, failing *linkstate.Failing,
) (*planner, error) {
	p := &planner{
		cfg: cfg, hooks: make(map[string][]*hook), all: make(map[string]webhooks.List),
		links: linkstate.New(cfg.Streams, failing), clicked: make(map[string]clickedLink),
	}
	for _, r := range known {
		w, err := webhookOf(r)
		if err != nil {
			return nil, err
		}
		p.all[w.Account] = append(p.all[w.Account], w)
	}
	for account := range p.all {
		p.setHooks(account)
	}
	return p, nil
}

func (p *planner) setHooks(account string) {
	p.hooks[account] = nil
	for _, w := range p.all[account] {
		h := newHook(w)
		if _, err := h.receiver(); err == nil { // otherwise a foreign event has made it
			p.hooks[account] = append(p.hooks[account], h)
		}
	}
	if len(p.hooks[account]) == 0 {
		delete(p.hooks, account)
		delete(p.all, account)
	}
}

// plan is the effects.Plan.
func (p *planner) plan(
	ctx context.Context, batch []eventstore.Recorded,
) (outbox.Changes, error) {
	p.changes, p.clicks = outbox.Changes{}, nil
	p.links.Reset()
	if err := p.links.Preload(ctx, batch, p.hasHooks); err != nil {
		return outbox.Changes{}, err
	}
	for _, r := range batch {
		if err := p.event(ctx, r); err != nil {
			return outbox.Changes{}, err
		}
	}
	p.sendClicks()
	return p.changes, nil
}

// hasHooks reports whether an account has webhooks.
func (p *planner) hasHooks(account string) bool { return len(p.hooks[account]) > 0 }

func (p *planner) event(ctx context.Context, r eventstore.Recorded) error {
	switch {
	case strings.HasPrefix(r.Stream, events.StreamWebhooks):
		return p.webhook(r)
	case r.Type == events.AccountErased{}.EventType():
		return p.erased(strings.TrimPrefix(r.Stream, events.StreamAccount))
	case len(p.hooks) == 0, strings.HasPrefix(r.Stream, events.StreamAccount):
		return nil
	case strings.HasPrefix(r.Stream, events.StreamClicks):
		return p.click(ctx, r)
	case strings.HasPrefix(r.Stream, events.StreamTags):
		p.sendClicks() // so that messages are in the order of the log
		return p.tag(ctx, r)
	case strings.HasPrefix(r.Stream, events.StreamAllowance):
		return p.allowance(ctx, r)
	}
	p.sendClicks()
	return p.link(ctx, r)
}

// decoded returns the body of an event, or nil if this version cannot decode it. No retry helps
// then, so webhooks do not get the event.
func (p *planner) decoded(r eventstore.Recorded) events.Event {
	e, err := r.Event()
	if err != nil {
		p.cfg.Logger.Warn("an event cannot be decoded, so webhooks do not get it",
			slog.String("stream", r.Stream), slog.Int64("revision", int64(r.Revision)),
			slog.Any("error", err))
		return nil
	}
	return e
}

// webhook follows a change of a webhook.
func (p *planner) webhook(r eventstore.Recorded) error {
	account := strings.TrimPrefix(r.Stream, events.StreamWebhooks)
	if _, err := uuid.Parse(account); err != nil {
		return nil //nolint:nilerr // no account has such a stream
	}
	p.sendClicks()
	p.forgetClicked(account) // its webhooks may be others now
	list := p.all[account]
	id := list.Apply(p.decoded(r))
	p.all[account] = list
	p.setHooks(account)
	if id == "" {
		return nil
	}
	for _, h := range p.hooks[account] {
		if h.ID != id {
			continue
		}
		receiver, err := h.receiver()
		if err != nil {
			return nil //nolint:nilerr // a foreign event; such a webhook cannot be used
		}
		p.changes.Set = append(p.changes.Set, receiver)
		return nil
	}
	return p.remove(id)
}

func (p *planner) remove(id string) error {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return nil //nolint:nilerr // a foreign event; no receiver has the id
	}
	p.changes.Remove = append(p.changes.Remove, parsed)
	kept := p.changes.Set[:0:0]
	for _, r := range p.changes.Set {
		if r.ID != parsed {
			kept = append(kept, r)
		}
	}
	p.changes.Set = kept
	return nil
}

// erased removes the webhooks of an account that was erased, with the payloads that wait.
func (p *planner) erased(account string) error {
	p.sendClicks()
	p.forgetClicked(account)
	for _, w := range p.all[account] {
		if err := p.remove(w.ID); err != nil {
			return err
		}
	}
	delete(p.all, account)
	delete(p.hooks, account)
	return nil
}

// message returns a message about an event for a webhook. part distinguishes the messages that one
// event has made, from 0.
func (p *planner) message(
	r eventstore.Recorded, h *hook, kind, subject string, part int, payload any,
) error {
	body, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	id := r.ID
	if part > 0 {
		id = uuid.NewSHA1(id, []byte{byte(part >> 8), byte(part)}) //nolint:gosec // distinct bytes
	}
	p.changes.Messages = append(p.changes.Messages, outbox.Message{
		ID: id, Receiver: uuid.MustParse(h.ID), Subject: subject, Commit: r.Position.Commit,
		At: r.Time, Kind: kind, Body: body,
	})
	return nil
}
