package write

import (
	"slices"

	"linkledger/commands"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/v3/catchup"
)

// Written returns how far a batch got.
func Written(outcome commands.URLsOutcome) catchup.Written {
	w := catchup.Written{Tags: outcome.Tags.Commit}
	for _, item := range outcome.Items {
		w.URLs = max(w.URLs, item.Position.Commit)
	}
	return w
}

// Outage returns why a batch could not be carried out, when that and nothing else was the matter:
// something failed that was not refused, and nothing succeeded. Repeating the call is what its
// client has to do then.
func Outage(items []commands.URLOutcome) error {
	if slices.ContainsFunc(items, func(o commands.URLOutcome) bool { return o.Err == nil }) {
		return nil
	}
	for _, item := range items {
		if _, refused := apierror.Refusal(item.Err); !refused {
			return item.Err
		}
	}
	return nil
}

// Interrupted returns why one of the items could not be carried out, other than by a refusal.
func Interrupted(outcomes []commands.URLOutcome) error {
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
