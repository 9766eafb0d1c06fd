package accounts

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// The bound of a key may exclude the links of a tag, which it names by the label. Were the tag
// renamed or deleted, the key would see these links. So as long as the key works, the label stays
// that of the tag. The key is in the stream of the account and the tag in another one, so each side
// looks at the other:
//
//   - A tag is renamed or deleted at the revision of the tags at which it had the label, and after
//     that revision was read, no key excluded the label.
//   - A key is added, then the tags that it excludes are written anew as they are. If a tag is
//     renamed at the same time, either that write finds it renamed, and the key is not given out,
//     or the renaming finds another revision, and then the key.
//
// Where a label is that of no tag all the same, as in logs of before, the bound matches nothing.

// MayLose refuses with AccessDenied that the tag with a label gets another one or is deleted if a
// working key excludes it. It names the keys to callers who may list them.
func (a *Account) MayLose(r domain.Request, label string) error {
	var names []string
	for _, key := range a.Keys {
		names = append(names, key.excluding(label)...)
	}
	if len(names) == 0 {
		return nil
	}
	which := "of the account"
	if own, err := a.caller(r); err == nil && access.ScopesOf(own.Scopes).Have(access.KeysRead) {
		which = strings.Join(names, ", ")
	}
	return domain.Refuse(
		domain.AccessDenied, "Keys leave out the links of the tag %q, and would see them then: "+
			"first revoke or change the keys %s", label, which,
	)
}

// excluding returns id and name of the key if it works and excludes a label.
func (k *Key) excluding(label string) []string {
	if !k.RevokedAt.IsZero() || !slices.ContainsFunc(
		access.Excluded(k.KeyTerms, events.KeyTerms{}), func(other string) bool {
			return domain.PlainLabel(other) == domain.PlainLabel(label)
		},
	) {
		return nil
	}
	return []string{strings.TrimSpace(k.ID + " " + k.Name)}
}

// needTags refuses with InvalidValue unless there are tags with the labels. It returns them.
// Without labels it reads nothing: keys that exclude no tag do not depend on the tags.
func needTags(
	ctx context.Context, of *streams.Streams, account string, labels []string,
) ([]domain.Tag, streams.History, error) {
	if len(labels) == 0 {
		return nil, streams.History{}, nil
	}
	loaded, err := of.Load(ctx, events.StreamTags+account)
	if err != nil {
		return nil, streams.History{}, err
	}
	known := domain.FoldTags(loaded.Events)
	found := make([]domain.Tag, len(labels))
	for i, label := range labels {
		var ok bool
		if found[i], ok = known.ByLabel(label); !ok {
			return nil, streams.History{}, domain.Refuse(
				domain.InvalidValue, "There is no tag %q: a key leaves out the links of an "+
					"existing tag, so make the tag first", label,
			)
		}
	}
	return found, loaded, nil
}

// holdTags writes tags anew as they are: concurrent commands that rename or delete them look
// at the keys again then. It refuses as needTags does.
func (s *Accounts) holdTags(
	ctx context.Context, r domain.Request, account string, labels []string,
) error {
	if len(labels) == 0 {
		return nil
	}
	stream := events.StreamTags + account
	r.Command = uuid.NewSHA1(r.Command, []byte("hold"))
	_, err := eventstore.Retry(func() (eventstore.Appended, error) {
		tags, loaded, err := needTags(ctx, s.streams, account, labels)
		if err != nil || loaded.Has(r.Command, stream) {
			return eventstore.Appended{}, err
		}
		held := make([]events.Event, len(tags))
		for i, tag := range tags {
			held[i] = events.TagRenamed{TagID: tag.ID, Label: tag.Label, At: s.streams.Now()}
		}
		return s.streams.Append(ctx, r, stream, loaded.Revision(), held...)
	})
	return err
}
