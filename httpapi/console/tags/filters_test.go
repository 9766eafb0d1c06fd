package tags

import (
	"testing"

	"linkledger/tagexpr"
)

func TestFiltersThatAreShownAreRight(t *testing.T) {
	t.Parallel()
	for _, row := range filterRows() {
		if _, err := tagexpr.Parse(row.Filter); err != nil {
			t.Errorf("%s: %v", row.Filter, err)
		}
	}
}
