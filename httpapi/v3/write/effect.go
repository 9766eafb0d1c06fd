package write

import (
	"errors"
	"slices"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/v3/catchup"
	"linkledger/queries"
)

// CheckEffects makes an error of each outcome that has no effect, because events of the link are
// set aside. The read models MUST have had the time to show the outcomes. As long as no event is
// set aside, it does not ask the database.
func CheckEffects(
	c *request.Context, waiter *catchup.Waiter, outcomes []linkwrite.Outcome,
) error {
	var positions []uint64
	for _, outcome := range outcomes {
		if outcome.Err == nil && outcome.Position.Commit > 0 {
			positions = append(positions, outcome.Position.Commit)
		}
	}
	lacking, err := waiter.LinksLack(c, positions...)
	if err != nil {
		return err
	}
	for i := range outcomes {
		if _, lacks := lacking[outcomes[i].Position.Commit]; lacks && outcomes[i].Err == nil {
			outcomes[i].Err = catchup.ErrLinkLacks
		}
	}
	return nil
}

// FirstLacking returns the error of the first outcome without effect, or nil if there is none:
// CheckEffects or CheckLabelled has made an error of it, or events that cannot be decoded have kept
// the command from deciding.
func FirstLacking(outcomes []linkwrite.Outcome) error {
	for _, outcome := range outcomes {
		if errors.Is(outcome.Err, catchup.ErrLinkLacks) ||
			errors.Is(outcome.Err, catchup.ErrTagsLack) {
			return outcome.Err
		}
		if _, ok := errors.AsType[*commands.DecodeError](outcome.Err); ok {
			return outcome.Err
		}
	}
	return nil
}

// CheckLabelled is CheckEffects for a call that gives tags to links. It also makes an error of each
// outcome with a label that no tag has, because events of the tags are set aside. attached returns
// the labels that the call has attached to the link of an outcome.
func CheckLabelled(
	c *request.Context, waiter *catchup.Waiter, shown *queries.DB,
	outcome commands.URLsOutcome, attached func(i int) []string,
) error {
	if err := CheckEffects(c, waiter, outcome.Items); err != nil || outcome.Tags.Commit == 0 {
		return err
	}
	if outdated, err := waiter.TagsLack(c, outcome.Tags.Commit); err != nil || !outdated {
		return err
	}
	tags, err := shown.Tags(c.Context(), c.Account.ID)
	if err != nil {
		return apierror.Unavailable(err)
	}
	known := make(map[string]struct{}, len(tags))
	for _, tag := range tags {
		known[domain.PlainLabel(tag.Label)] = struct{}{}
	}
	for i := range outcome.Items {
		item := &outcome.Items[i]
		lacks := func(label string) bool {
			_, ok := known[domain.PlainLabel(label)]
			return !ok
		}
		if item.Err == nil && slices.ContainsFunc(attached(i), lacks) {
			item.Err = catchup.ErrTagsLack
		}
	}
	return nil
}
