package httpapi

import (
	"slices"

	"linkledger/commands"
)

// positions returns how far a batch got.
func positions(outcome commands.URLsOutcome) written {
	w := written{tags: outcome.Tags.Commit}
	for _, item := range outcome.Items {
		w.urls = max(w.urls, item.Position.Commit)
	}
	return w
}

// outage returns why a batch could not be carried out, when that and nothing else was the matter: something failed that
// was not refused, and nothing succeeded. Repeating the call is what its client has to do then.
func outage(items []commands.URLOutcome) error {
	if slices.ContainsFunc(items, func(o commands.URLOutcome) bool { return o.Err == nil }) {
		return nil
	}
	for _, item := range items {
		if _, refused := refusal(item.Err); !refused {
			return item.Err
		}
	}
	return nil
}

// interrupted returns why one of the items could not be carried out, other than by a refusal.
func interrupted(outcomes []commands.URLOutcome) error {
	for _, outcome := range outcomes {
		if outcome.Err == nil {
			continue
		}
		if _, refused := refusal(outcome.Err); !refused {
			return outcome.Err
		}
	}
	return nil
}
