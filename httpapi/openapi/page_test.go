package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
)

// theDescription returns the description as the page reads it.
func theDescription(t testing.TB) Document {
	t.Helper()
	var doc Document
	if err := json.Unmarshal(description, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestEveryCodeHasAnExample(t *testing.T) {
	t.Parallel()
	failures := theDescription(t).failures()
	known := 0 // all codes except success
	for c := range apierror.Code(10_000) {
		if c.Message() == "" {
			continue
		}
		known++
		example := failures.get(fmt.Sprint(c))
		var value contract.Envelope
		if err := json.Unmarshal(example.Value, &value); err != nil {
			t.Errorf("code %d: %v", c, err)
			continue
		}
		status := fmt.Sprintf("Status %d. ", c.Status())
		if value.Error.Code != int(c) || value.Error.Message != c.Message() || !strings.HasPrefix(example.Summary, status) {
			t.Errorf("example %+v of code %d with the summary %q", value, c, example.Summary)
		}
	}
	if len(failures) != known {
		t.Errorf("%d failures are described; want %d", len(failures), known)
	}
}

// TestSectionsAreInOrder checks that the page has the sections of the contract in its order, followed by its other
// sections.
func TestSectionsAreInOrder(t *testing.T) {
	t.Parallel()
	sections, err := theDescription(t).sections()
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, section := range sections {
		order = append(order, section.Name)
		if len(section.Operations) == 0 || section.Description == "" {
			t.Errorf("section %q is empty", section.Name)
		}
		for _, operation := range section.Operations {
			if !slices.Equal(operation.Tags, []string{section.Name}) {
				t.Errorf("%s is in the sections %v", operation.OperationID, operation.Tags)
			}
		}
	}
	if got := strings.Join(
		order, ", ",
	); got != "Account, URLs, Stats, Tags, Keys, Webhooks, Members, Sessions, Domains, History, Short links, Description" {
		t.Errorf(
			"%s is %v; want %v", "sections", got,
			"Account, URLs, Stats, Tags, Keys, Webhooks, Members, Sessions, Domains, History, Short links, Description",
		)
	}
}
