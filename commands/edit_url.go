package commands

import (
	"context"
	"strings"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// EditURL changes a link. Nil fields are not given and stay.
type EditURL struct {
	CustomHash     *string
	LongURL        *string
	Note           *string
	EmailStats     *bool
	Ping           *bool
	Protected      *bool
	Archived       *bool
	ExpirationDate *string // empty: the link no longer expires
	MaxClicks      *int64
	Tags           []string // "+label" or "label" attaches, "-label" detaches
}

// EditURL edits the link that lives under a hash of the account.
func (h *Handler) EditURL(ctx context.Context, r Request, hash string, edit EditURL) URLsOutcome {
	change, err := h.checkEdit(edit)
	if err != nil {
		return failed(err)
	}
	tags, position, err := h.resolveTags(ctx, r, edit.Tags, &change)
	if err != nil {
		return failed(err)
	}
	outcome, err := retry(func() (URLOutcome, error) { return h.tryEditURL(ctx, r, hash, change) })
	if err != nil {
		return failed(err)
	}
	outcome.Labels = tags.Labels(outcome.URL.Tags)
	return URLsOutcome{Items: []URLOutcome{outcome}, Tags: position}
}

func failed(err error) URLsOutcome { return URLsOutcome{Items: []URLOutcome{{Err: err}}} }

func (h *Handler) checkEdit(edit EditURL) (urlChange, error) {
	change := urlChange{hash: edit.CustomHash, longURL: edit.LongURL, settings: events.URLSettingsChanged{
		EmailStats: edit.EmailStats, Ping: edit.Ping, Protected: edit.Protected, Archived: edit.Archived,
		ExpirationDate: edit.ExpirationDate, MaxClicks: edit.MaxClicks,
	}}
	if edit.CustomHash != nil {
		if err := h.checkCustomHash(*edit.CustomHash); err != nil {
			return urlChange{}, err
		}
	}
	if edit.LongURL != nil {
		if err := h.checkLongURL(*edit.LongURL); err != nil {
			return urlChange{}, err
		}
	}
	if edit.Note != nil {
		note := h.trimNote(*edit.Note)
		change.settings.Note = &note
	}
	if edit.ExpirationDate != nil {
		if err := checkDate(*edit.ExpirationDate); err != nil {
			return urlChange{}, err
		}
	}
	if edit.MaxClicks != nil {
		if err := checkMaxClicks(*edit.MaxClicks); err != nil {
			return urlChange{}, err
		}
	}
	return change, nil
}

// resolveTags turns tag instructions into the ids to attach and to detach. Tags to attach are created where missing.
func (h *Handler) resolveTags(ctx context.Context, r Request, instructions []string, change *urlChange) (Tags, eventstore.Position, error) {
	var attach, detach []string
	for _, instruction := range instructions {
		instruction = strings.TrimSpace(instruction)
		if label, ok := strings.CutPrefix(instruction, "-"); ok {
			detach = append(detach, label)
			continue
		}
		attach = append(attach, strings.TrimPrefix(instruction, "+"))
	}
	tags, position, err := h.ensureTags(ctx, r, attach)
	if err != nil {
		return Tags{}, eventstore.Position{}, err
	}
	change.attach = tags.ids(attach)
	for _, label := range detach {
		tag, ok := tags.ByLabel(label)
		if !ok {
			return Tags{}, eventstore.Position{}, refuse(TagNotFound, "There is no tag %q", label)
		}
		change.detach = append(change.detach, tag.ID)
	}
	return tags, position, nil
}

func (h *Handler) tryEditURL(ctx context.Context, r Request, hash string, change urlChange) (URLOutcome, error) {
	url, loaded, err := h.urlByHash(ctx, r, hash)
	if err != nil {
		return URLOutcome{}, err
	}
	stream := events.StreamURL + url.ID
	if loaded.holds(r.Command, stream) {
		return URLOutcome{URL: url, Position: loaded.position()}, nil
	}
	if change.hash != nil && *change.hash != url.Hash {
		if change.claim, err = h.claim(ctx, r, *change.hash, url.ID, url.spentClaimOf(*change.hash)); err != nil {
			return URLOutcome{}, err
		}
	}
	changes := url.edit(change, h.now())
	if len(changes) == 0 {
		return URLOutcome{URL: url, Position: loaded.position()}, nil
	}
	appended, err := h.append(ctx, r, stream, loaded.revision(), changes...)
	if err != nil {
		return URLOutcome{}, err
	}
	if change.hash != nil && *change.hash != url.Hash {
		h.releaseAfter(ctx, r, url.Hash, url.ID)
	}
	for _, e := range changes {
		url.evolve(e)
	}
	return URLOutcome{URL: url, Position: appended.Position}, nil
}

// urlByHash loads the live link under a hash of the account, by way of the hash's own stream. A link that left the hash
// by this very command is found too, so that a repeated command finds what it did.
func (h *Handler) urlByHash(ctx context.Context, r Request, hash string) (URL, history, error) {
	missing := refuse(URLNotFound, "There is no URL with the hash %q", hash)
	if !ValidHash(hash) {
		return URL{}, history{}, refuse(InvalidHash, "A hash is 1 to 25 of the characters A-Z a-z 0-9 _ -")
	}
	claims, err := h.load(ctx, events.StreamHash+hash)
	if err != nil {
		return URL{}, history{}, err
	}
	claim := foldHash(hash, claims.events)
	if claim.urlID == "" || claim.account != r.Account {
		return URL{}, history{}, missing
	}
	loaded, err := h.load(ctx, events.StreamURL+claim.urlID)
	if err != nil {
		return URL{}, history{}, err
	}
	url := foldURL(loaded.events)
	if url.Live() && url.Hash == hash || loaded.holds(r.Command, events.StreamURL+claim.urlID) {
		return url, loaded, nil
	}
	return URL{}, history{}, missing
}
