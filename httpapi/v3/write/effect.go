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

// CheckEffects sets the error of each outcome whose change has no effect, because events of the
// link are set aside as dead letters. The caller MUST have waited until the read models show the
// outcomes, or until that wait timed out. While no event is set aside, CheckEffects does not ask
// the database.
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

// FirstLacking returns the error of the first outcome whose change has no effect, or nil if there
// is no such outcome. The error was set by CheckEffects or CheckLabelled, or it is a
// *commands.DecodeError: the command could not decode the events that it needed.
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

// CheckLabelled is CheckEffects for a call that gives tags to links. It also sets the error of each
// outcome with a label that no tag has, because events of the tags are set aside as dead letters.
// attached returns the labels that the call has attached to the link of outcome i.
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
