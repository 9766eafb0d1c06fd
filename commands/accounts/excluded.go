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

// The bound of a key may exclude the links of a tag. The bound names the tag by its label. If the
// tag were renamed or deleted, the key would see these links. So the tag keeps its label as long as
// the key works. The key is in the stream of the account and the tag is in another stream, so each
// command checks the other stream:
//
//   - A command that renames or deletes a tag reads the tags, then checks that no key excludes the
//     label, then appends at the revision of the tags that it has read.
//   - A command that adds or changes a key rewrites the excluded tags unchanged afterward. If
//     another command renames a tag at the same time, one of two things happens. Either the rewrite
//     does not find the label: the command then fails, and revokes the key if it has added one. Or
//     the renaming finds another revision, reads again, and finds the key.
//
// If no tag has the excluded label nevertheless, as in older logs, the bound matches nothing.

// MayLose refuses with AccessDenied to rename or delete the tag with a label if a working key
// excludes the label. The error names the keys if the caller may list keys.
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
		domain.AccessDenied, "Keys exclude the links of the tag %q and would see them after this "+
			"change: first revoke or change the keys %s", label, which,
	)
}

// excluding returns the id and name of the key if it works and excludes a label, else nil.
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

// needTags returns the tags with the labels, and the stream that has them. It refuses with
// InvalidValue if a label has no tag. If labels is empty, it reads nothing, because keys that
// exclude no tag do not depend on the tags.
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

// holdTags rewrites tags unchanged. So a concurrent command that renames or deletes one of the tags
// finds another revision, and checks the keys again. It refuses as needTags does.
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
