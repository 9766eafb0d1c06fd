package write

import (
	"slices"

	"linkledger/commands"
	"linkledger/commands/linkwrite"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/v3/catchup"
)

// PositionsOf returns the positions of the last events of a batch.
func PositionsOf(outcome commands.URLsOutcome) catchup.Positions {
	w := catchup.Positions{Tags: outcome.Tags.Commit}
	for _, item := range outcome.Items {
		w.URLs = max(w.URLs, item.Position.Commit)
	}
	return w
}

// Outage returns nil if an item of a batch succeeded, or if all items were refused. Otherwise it
// returns the first error that is not a refusal. The whole call then fails, because its client has
// to repeat it.
func Outage(items []linkwrite.Outcome) error {
	if slices.ContainsFunc(items, func(o linkwrite.Outcome) bool { return o.Err == nil }) {
		return nil
	}
	for _, item := range items {
		if _, refused := apierror.Refusal(item.Err); !refused {
			return item.Err
		}
	}
	return nil
}

// FirstFault returns the first error that is not a refusal, or nil if there is none.
func FirstFault(outcomes []linkwrite.Outcome) error {
	for _, outcome := range outcomes {
		if outcome.Err == nil {
			continue
		}
		if _, refused := apierror.Refusal(outcome.Err); !refused {
			return outcome.Err
		}
	}
	return nil
}
